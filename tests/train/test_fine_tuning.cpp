// Fine-tuning: a run begins with a model's own weights and tokens, measures what it forgets, goes
// on where it was saved, and leaves the model as it was.
#include "core/train/fine_tuning.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "core/model/bundled.h"
#include "core/train/model_recipe.h"

namespace headlight::test_fine_tuning {
namespace {

constexpr const char* kBase = "bundled:stories";

std::string strange_text() {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "zebra " + std::to_string(i % 7) + " quux; ";
  return text;
}

RunPlan small_tuning(int context = 24) {
  RunPlan plan = default_plan("", OwnData::kText);
  plan.text.text = strange_text();
  plan.text_options.context = context;
  const ModelRecipe& recipe = bundled_recipe("stories");
  plan = tuning_plan(std::move(plan), kBase, recipe.config, recipe.training.text->context);
  plan.settings.batch = 4;
  plan.settings.schedule.warmup = 0;
  plan.stop.steps = plan.settings.schedule.steps = 20;
  return plan;
}

TrainingRun make_run(const RunPlan& plan) {
  const std::shared_ptr<const Task> task = make_plan_task(plan).task;
  return {plan, task, 2, kHistoryBytes, {}, plan_start(plan, *task)};
}

const Tensor& weight(const Model& model, std::string_view name) {
  for (const Tensor& tensor : model.weights) {
    if (tensor.name == name) return tensor;
  }
  FAIL("no weight ", name);
  return model.weights.front();
}

}  // namespace

TEST_CASE("tuning: a bundled model's rows are as long as its recipe says, of a task as of a text") {
  for (const BundledModel& each : bundled_models()) {
    CAPTURE(each.name);
    const auto model = load_model(std::string(kBundledRef) + std::string(each.name));
    CHECK(learned_context(bundled_recipe(each.name)) == model->file.context);
  }
}

TEST_CASE("tuning: a plan has the model's form and tokens, and goes back to new weights") {
  RunPlan plan = default_plan("", OwnData::kText);
  plan.text.text = "some text";
  plan.config.seed = 5;
  plan.text_options.validation = 20;
  const ModelRecipe& recipe = bundled_recipe("stories");
  const RunPlan tuned = tuning_plan(plan, kBase, recipe.config, recipe.training.text->context);
  CHECK(tuned.config.layers == recipe.config.layers);
  CHECK(tuned.settings.schedule.peak == doctest::Approx(plan.settings.schedule.peak / 10));
  CHECK(tuned.text.text == plan.text.text);
  CHECK(tuned.text_options.validation == 20);
  CHECK(tuned.text_options.context <= recipe.training.text->context);
  CHECK_FALSE(same_start(plan, tuned));
  CHECK_FALSE(same_data(plan, tuned));
  const RunPlan back = untuned_plan(tuned);
  CHECK(back.settings.base == "");
  CHECK(back.config.seed == 5);
  CHECK(back.text.text == plan.text.text);
  CHECK(same_start(plan, back));
  CHECK(with_data(tuned, OwnData::kLabels).settings.base == "");
}

TEST_CASE("tuning: the run begins with the model's weights and tokens") {
  const std::shared_ptr<const Model> base = load_model(kBase);
  const TrainingRun run = make_run(small_tuning());
  const std::shared_ptr<const Model> begun = run.model();
  CHECK(begun->vocabulary->to_json() == base->vocabulary->to_json());
  REQUIRE(begun->weights.size() == base->weights.size());
  for (const Tensor& made : begun->weights) {
    CAPTURE(made.name);
    const Tensor& whole = weight(*base, made.name);
    CHECK(std::equal(made.data.begin(), made.data.end(), whole.data.begin()));
    if (made.name != "pos_embed.W_pos") CHECK(made.axes == whole.axes);
  }
  CHECK(weight(*begun, "pos_embed.W_pos").axes[0].size == 24);
  CHECK(weight(*base, "pos_embed.W_pos").axes[0].size == 128);
}

TEST_CASE("tuning: a classifier on a model begins with its weights and a head of its own") {
  RunPlan plan = default_plan("", OwnData::kLabels);
  std::string table;
  for (int i = 0; i < 40; ++i)
    table += i % 2 ? "the dog ran to the park\tpark\n" : "the cat sat in the house\thouse\n";
  plan.text.text = table;
  plan.config.seed = 7;
  const ModelRecipe& recipe = bundled_recipe("stories");
  RunPlan tuned = tuning_plan(plan, kBase, recipe.config, recipe.training.text->context);
  CHECK(tuned.config.form == ModelForm::kClasses);
  CHECK(tuned.config.pool == PoolKind::kLast);  // it looks back only
  CHECK(tuned.config.seed == 7);
  CHECK(tuned.text_options.context == recipe.training.text->context);
  CHECK(tuned.text.text == plan.text.text);
  tuned.settings.frozen = 1;
  tuned.settings.batch = 8;
  tuned.stop.steps = tuned.settings.schedule.steps = 3;
  tuned.settings.schedule.warmup = 0;
  const std::shared_ptr<const Model> base = load_model(kBase);
  TrainingRun run = make_run(tuned);
  const auto agrees = [&](const Model& model, const std::string& name) {
    const Tensor &made = weight(model, name), &whole = weight(*base, name);
    const auto cells = std::min(made.data.size(), whole.data.size());
    return std::equal(made.data.begin(), made.data.begin() + static_cast<std::ptrdiff_t>(cells),
                      whole.data.begin());
  };
  const std::shared_ptr<const Model> begun = run.model();
  CHECK(begun->file.classes == std::vector<std::string>{"house", "park"});
  for (const char* name : {"embed.W_E", "blocks.0.attn.W_Q", "blocks.1.mlp.W_in"})
    CHECK(agrees(*begun, name));
  CHECK(weight(*begun, "classify.W_C").axes[1].size == 2);
  while (!run.finished()) run.step();
  const std::shared_ptr<const Model> now = run.model();
  CHECK(agrees(*now, "blocks.0.attn.W_Q"));  // frozen
  CHECK_FALSE(agrees(*now, "blocks.1.mlp.W_in"));
  const RunPlan back = untuned_plan(tuned);
  CHECK(back.data == OwnData::kLabels);
  CHECK(back.settings.base == "");
  CHECK(back.settings.frozen == kNoneFrozen);
  CHECK(back.text.text == plan.text.text);
  CHECK(same_start(plan, back));
}

TEST_CASE("tuning: what the model writes by itself is known to it, and forgotten meanwhile") {
  TrainingRun run = make_run(small_tuning());
  const double learned = run.history().old_text().front().loss;
  // Its loss on stories that it has not seen is about 2.4 nats; one that knows nothing has ln 2000.
  CHECK(learned > 1.5);
  CHECK(learned < 3.5);
  CHECK(run.history().validation().front().loss > learned + 2);
  while (!run.finished()) run.step();
  REQUIRE(run.history().old_text().size() == 3);  // at 0, 10, 20
  CHECK(run.history().old_text().back().step == 20);
  CHECK(run.history().validation().back().loss < run.history().validation().front().loss - 1);
  CHECK(run.history().old_text().back().loss > learned);
}

TEST_CASE("tuning: only what the model wrote is counted, each row in its own words") {
  const std::shared_ptr<const Model> base = load_model(kBase);
  const TokenBatch rows = written_rows(base, 6, 32);
  REQUIRE(rows.rows == 6);
  REQUIRE(rows.tokens.size() == 6 * 32);
  REQUIRE(rows.targets.size() == 6 * 32);
  for (std::size_t r = 0; r < 6; ++r) {
    CAPTURE(r);
    const int* tokens = rows.tokens.data() + r * 32;
    const int* targets = rows.targets.data() + r * 32;
    std::size_t first = 0;
    while (first < 32 && targets[first] < 0) ++first;
    CHECK(first < 16);
    for (std::size_t i = first; i + 1 < 32; ++i) CHECK(targets[i] == tokens[i + 1]);
    CHECK(targets[31] >= 0);
    if (r > 0) CHECK_FALSE(std::equal(tokens, tokens + 32, tokens - 32));
  }
  CHECK(written_rows(base, 6, 32).tokens == rows.tokens);
  CHECK(written_rows(load_model("bundled:sentiment"), 6, 32).rows == 0);
}

TEST_CASE("tuning: a saved run goes on, and knows what it began with, also where that is gone") {
  const auto folder = std::filesystem::temp_directory_path() / "headlight_test_fine_tuning";
  std::filesystem::remove_all(folder);
  TrainingRun run = make_run(small_tuning());
  for (int i = 0; i < 4; ++i) run.step();
  run.save(folder);
  RunPlan plan = resume_plan(folder);
  CHECK(plan.settings.base == kBase);
  plan.text.text = strange_text();
  TrainingRun resumed = make_run(plan);
  CHECK(resumed.steps_done() == 4);
  CHECK(resumed.step().loss == run.step().loss);
  while (run.steps_done() < 10) run.step();
  while (resumed.steps_done() < 10) resumed.step();
  CHECK(resumed.history().old_text().back().loss == run.history().old_text().back().loss);
  plan.settings.base = folder.string() + "_gone";
  const TrainingRun without = make_run(plan);
  CHECK(without.steps_done() == 4);
  CHECK(without.history().old_text().empty());
  std::filesystem::remove_all(folder);
}

TEST_CASE("tuning: a row that is longer than the model's own is refused by name") {
  RunPlan plan = small_tuning();
  plan.text_options.context = 200;
  CHECK_THROWS_WITH(make_run(plan), doctest::Contains("W_pos"));
}

}  // namespace headlight::test_fine_tuning
