// A classifier on a model that has learned a text: what it takes over, and what stays as it was.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/train/fine_tuning.h"
#include "core/train/trainer.h"
#include "tests/support/text_source_support.h"

namespace headlight::test_frozen {
namespace {

// Two layers that have read a little with holes.
std::shared_ptr<const Model> read_model() {
  std::string text;
  for (int i = 0; i < 60; ++i) text += i % 3 ? "good fine nice . " : "bad poor sad . ";
  RunPlan plan = with_masked(default_plan(""), 20);
  plan.text = pasted(text);
  plan.text_options.cut = TextCut::kWords;
  plan.text_options.context = 6;
  plan.config.d_model = 8;
  plan.config.heads = 2;
  TrainingRun run(plan, std::shared_ptr<const Task>(make_plan_task(plan).task), 1);
  for (int i = 0; i < 5; ++i) run.step();
  return run.model();
}

std::shared_ptr<const Task> labels_for(const Model& model) {
  TextOptions options = default_options(OwnData::kLabels);
  options.context = 6;
  options.validation = 0;
  options.known = vocabulary_on(model, OwnData::kLabels, {});
  return load_labelled_task(pasted("good fine\tup\nbad\tdown\nnice .\tup\nsad poor .\tdown\n"),
                            options)
      .task;
}

// Names of the parameters that three steps change.
std::vector<std::string> changed_by(const Model& model, int frozen, double clip, double* norm) {
  const std::shared_ptr<const Task> task = labels_for(model);
  const Config config = classifier_on(model.file.config, model.name, PoolKind::kMean);
  const RunShape shape = shape_of(*task, config);
  const std::vector<Tensor> start = classifier_weights(model, config, shape, Init::kNormal);
  TrainerOptions options;
  options.optimizer.weight_decay = 0.1;
  options.clip = clip;
  options.frozen = frozen;
  Trainer trainer(config, shape, start, options);
  TaskBatches batches(task, 4, 1, Split::kTraining);
  *norm = trainer.step(batches.next()).gradient_norm;
  double squares = 0;  // of what learns
  for (std::size_t p = 0; p < start.size(); ++p) {
    if (trainer.optimizer().tensors()[p].frozen) continue;
    for (const float g : trainer.gradient(p)) squares += double(g) * g;
  }
  if (clip == 0) CHECK(std::sqrt(squares) == doctest::Approx(*norm));
  for (int i = 0; i < 2; ++i) trainer.step(batches.next());
  std::vector<std::string> names;
  for (const Tensor& now : trainer.parameters()) {
    const auto before = std::ranges::find(start, now.name, &Tensor::name);
    if (before->data != now.data) names.push_back(now.name);
  }
  return names;
}

bool any(const std::vector<std::string>& names, std::string_view part) {
  return std::ranges::any_of(names, [&](const std::string& name) { return has(name, part); });
}

}  // namespace

TEST_CASE("a classifier on a model: its weights, a new head, and rows for new tokens") {
  const std::shared_ptr<const Model> model = read_model();
  CHECK(!model->vocabulary->id_of(Special::kPad));
  const std::shared_ptr<const Task> task = labels_for(*model);
  CHECK(task->vocabulary().size() == model->vocabulary->size() + 1);
  CHECK(task->vocabulary().find("good") == model->vocabulary->find("good"));
  const Config config = classifier_on(model->file.config, model->name, PoolKind::kMean);
  CHECK(config.form == ModelForm::kClasses);
  CHECK(config.mask.kind == MaskKind::kNone);
  const RunShape shape = shape_of(*task, config);
  const std::vector<Tensor> drawn =
      initial_parameters(build_program(config, shape), Init::kNormal, config.seed);
  for (const Tensor& tensor : classifier_weights(*model, config, shape, Init::kNormal)) {
    CAPTURE(tensor.name);
    const auto base = std::ranges::find(model->weights, tensor.name, &Tensor::name);
    const auto fresh = std::ranges::find(drawn, tensor.name, &Tensor::name);
    if (tensor.name.starts_with("classify.")) {
      CHECK(base == model->weights.end());
      CHECK(tensor.data == fresh->data);
      continue;
    }
    REQUIRE(base != model->weights.end());
    const std::size_t taken = std::min(base->data.size(), tensor.data.size());
    CHECK(std::equal(base->data.begin(), base->data.begin() + static_cast<std::ptrdiff_t>(taken),
                     tensor.data.begin()));
    const std::size_t added = tensor.name == "embed.W_E" ? 8 : 0;  // [PAD]
    CHECK(tensor.data.size() == taken + added);
  }
}

TEST_CASE(
    "frozen: embeddings and the first layers keep their weights, in norms and decay as well") {
  const std::shared_ptr<const Model> model = read_model();
  double all = 0, one = 0, head = 0;
  const auto learned = changed_by(*model, kNoneFrozen, 0, &all);
  CHECK(any(learned, "embed.W_E"));
  CHECK(any(learned, "blocks.0."));
  const auto embeddings = changed_by(*model, 0, 0, &one);
  CHECK(!any(embeddings, "embed."));
  CHECK(any(embeddings, "blocks.0."));
  const auto upper = changed_by(*model, 1, 0, &one);
  CHECK(!any(upper, "embed."));
  CHECK(!any(upper, "blocks.0."));
  CHECK(any(upper, "blocks.1."));
  CHECK(any(upper, "ln_final."));
  const auto top = changed_by(*model, kAllFrozen, 0, &head);
  CHECK(top == std::vector<std::string>{"classify.W_C", "classify.b_C"});
  CHECK(head < one);
  CHECK(one < all);
  // A limit that the head alone stays below changes nothing of it.
  double clipped = 0;
  changed_by(*model, kAllFrozen, head * 1.01, &clipped);
  CHECK(clipped == doctest::Approx(head));
}

TEST_CASE("frozen: it is kept with the run; other forms of model are refused") {
  RunSettings settings, read;
  settings.frozen = 1;
  TrainState state;
  parse_train(train_text(settings, {}), read, state);
  CHECK(read.frozen == 1);
  CHECK(!has(train_text({}, {}), "frozen"));
  const auto refused = [](const char* ref) {
    return error_of([&] {
      const auto model = load_model(ref);
      (void)classifier_on(model->file.config, model->name, PoolKind::kMean);
    });
  };
  CHECK(has(refused("bundled:dates"), "no classifier can be made of it"));
  CHECK(refused("bundled:grammar").empty());
}

}  // namespace headlight::test_frozen
