// [CLS] before the rows of a task: in its vocabulary, in training, in a folder, and read back.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "core/backends/backend.h"
#include "core/model/init.h"
#include "core/run/runner.h"
#include "core/train/data/batches.h"
#include "core/train/metrics/model_score.h"
#include "core/train/run_checkpoint.h"
#include "core/train/tasks/class_token.h"
#include "core/train/trainer.h"
#include "tests/support/error_text.h"

namespace headlight {
namespace {

Config judging(PoolKind pool) {
  Config c;
  c.layers = 1;
  c.heads = 2;
  c.d_model = 16;
  c.form = ModelForm::kClasses;
  c.mask.kind = MaskKind::kNone;
  c.pool = pool;
  return c;
}

}  // namespace

TEST_CASE("[CLS]: is the last token of any vocabulary, and of one that has it already none") {
  constexpr Special kPad[] = {Special::kPad};
  const std::string text = "the cat sat on the mat, the cat sat";
  const std::shared_ptr<const Vocabulary> all[] = {
      std::make_shared<const Vocabulary>(TextCut::kWords,
                                         std::vector<std::string>{"[PAD]", "the", "cat"}),
      std::make_shared<const Vocabulary>(TextCut::kCharacters,
                                         std::vector<std::string>{"t", "h", "e", "[UNK]"}),
      std::make_shared<const Vocabulary>(Vocabulary::of_bytes(kPad)),
      std::make_shared<const Vocabulary>(Vocabulary::of_bpe(learn_bpe(text, 270), kPad)),
  };
  for (const auto& own : all) {
    CAPTURE(to_string(own->cut()));
    const auto longer = with_class_token(own);
    CHECK(longer->size() == own->size() + 1);
    CHECK(longer->id_of(Special::kClass) == own->size());
    CHECK(longer->cut() == own->cut());
    CHECK(longer->id_of(Special::kPad) == own->id_of(Special::kPad));
    CHECK(longer->encode("the") == own->encode("the"));
    CHECK(longer->encode("[CLS]the")[0] == own->size());
    CHECK(Vocabulary::from_json(longer->to_json()) == *longer);
    CHECK(with_class_token(longer) == longer);
  }
}

TEST_CASE("[CLS]: stands before each example, where a model judges by it") {
  const std::shared_ptr<const Task> plain = make_task("sentiment");
  for (const auto& kind : choices(PoolKind{})) {
    CAPTURE(kind.word);
    const auto task = as_read_by(judging(kind.value), plain);
    if (kind.value != PoolKind::kFirst) {
      CHECK(task == plain);
      continue;
    }
    CHECK(task->context() == plain->context() + 1);
    CHECK(task->classes() == plain->classes());
    CHECK(task->id() == plain->id());
    Random a(7), b(7);
    for (int i = 0; i < 50; ++i) {
      const TaskExample with = task->draw(a), without = plain->draw(b);
      REQUIRE(with.tokens.size() == without.tokens.size() + 1);
      CHECK(with.targets.size() == with.tokens.size());
      CHECK(task->vocabulary().token(with.tokens[0]) == "[CLS]");
      CHECK(with.label == without.label);
      const std::span<const int> written = as_written(*task, with.tokens);
      CHECK(std::vector<int>(written.begin(), written.end()) == without.tokens);
      CHECK(task->vocabulary().decode(written) == plain->vocabulary().decode(without.tokens));
    }
  }
  const std::shared_ptr<const Task> other = make_task("copy");
  CHECK(as_read_by(judging(PoolKind::kFirst), other) == other);
}

TEST_CASE("[CLS]: a model that was trained with it puts it before every sentence") {
  const Config config = judging(PoolKind::kFirst);
  const std::shared_ptr<const Task> task = as_read_by(config, make_task("sentiment"));
  const RunShape shape = shape_of(*task, config);
  TrainerOptions options;
  options.schedule.peak = 0.01;
  options.threads = 1;
  Trainer trainer(config, shape, initial_parameters(build_program(config, shape), Init::kGlorot, 1),
                  options);
  TaskBatches batches(task, 16, 1, Split::kTraining);
  for (int step = 0; step < 60; ++step) trainer.step(std::span(&batches.next(), 1));

  const auto folder = std::filesystem::temp_directory_path() / "headlight-class-token";
  std::filesystem::remove_all(folder);
  RunSettings settings;
  settings.task = "sentiment";
  checkpoint_of(model_file(config, shape, task.get()), task->vocabulary().to_json(), trainer,
                settings, {60, batches.state()})
      .save(folder);
  const auto model = load_model(folder.string());
  CHECK(task_of(*model)->context() == task->context());
  CHECK(score_task(model, *task_of(*model), 1, 50, 1).score.sequences == 50);

  // The window reads a sentence as training read it.
  const std::unique_ptr<Backend> backend = make_cpu_backend(1);
  Runner runner;
  Random random(3);
  for (int i = 0; i < 20; ++i) {
    const TaskExample example = task->draw(random);
    Document document;
    document.model = model->ref;
    document.config = config;
    document.sentence = task->vocabulary().decode(as_written(*task, example.tokens));
    const RunResult result = runner.run(document, *backend);
    REQUIRE(result.problem == "");
    CHECK(result.trace->input().ids == example.tokens);
    const TensorView probs = result.trace->find("probs");
    const double loss = trainer.evaluate(batch_of(*task, std::span(&example, 1))).loss;
    CHECK(-std::log(probs.data[example.label]) == doctest::Approx(loss).epsilon(1e-4));
  }

  // One that lacks the token says so.
  Model lacking = *model;
  lacking.vocabulary = std::make_shared<const Vocabulary>(
      TextCut::kWords, std::vector<std::string>(model->vocabulary->tokens()->begin(),
                                                model->vocabulary->tokens()->end() - 1));
  Document document;
  document.model = "elsewhere";
  document.config = config;
  document.sentence = "the cake is good .";
  const RunResult result =
      runner.run(document, *backend, std::make_shared<const Model>(std::move(lacking)));
  CHECK(result.problem.find("[CLS]") != std::string::npos);
  std::filesystem::remove_all(folder);
}

}  // namespace headlight
