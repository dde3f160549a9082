// [CLS] before the rows of a task: in its vocabulary, in training, in a folder, and read back.
#include <doctest/doctest.h>

#include <algorithm>
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
#include "tests/model/worded_folder.h"
#include "tests/support/error_text.h"
#include "tests/support/text_source_support.h"

namespace headlight::test_class_token {
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

TEST_CASE("[CLS]: what a tokenizer from elsewhere puts around a text stands around learned rows") {
  const auto folder = std::filesystem::temp_directory_path() / "headlight-framed-bert";
  std::filesystem::remove_all(folder);
  make_worded_folder("bert", folder,
                     {{0, "[PAD]"}, {1, "[CLS]"}, {2, "[SEP]"}, {3, "<unk>"}, {4, "."}},
                     {{"type", "BertProcessing"}, {"sep", {"[SEP]", 2}}, {"cls", {"[CLS]", 1}}});
  const auto model = load_model(folder.string());
  TextOptions options = default_options(OwnData::kLabels);
  options.known = model->vocabulary;
  options.context = 3;
  const std::shared_ptr<const Task> plain =
      load_labelled_task(pasted("w5 w6 w7\tone\nw8 w9\ttwo\nw9 w8\tone\n"), options).task;
  for (const auto& kind : choices(PoolKind{})) {  // the window puts it around for each of them
    CAPTURE(kind.word);
    const auto task = as_read_by(judging(kind.value), plain);
    CHECK(task->context() == 5);
    CHECK(task->shared_vocabulary() == model->vocabulary);
    Random random(1);
    for (int i = 0; i < 20; ++i) {
      const TaskExample example = task->draw(random);
      CHECK(example.targets.size() == example.tokens.size());
      Document document;
      document.model = model->ref;
      document.sentence = task->vocabulary().decode(as_written(*task, example.tokens));
      const RunResult result = Runner().run(document, *make_cpu_backend(1));
      REQUIRE(result.problem == "");
      CHECK(result.trace->input().ids == example.tokens);
    }
  }
  std::vector<int> nothing;  // a text without a token is a row all the same
  put_around(frame_of(*model->vocabulary), nothing);
  CHECK(nothing == std::vector{1, 2});
  // Rows of two sentences end with their own [SEP].
  options.next_sentence = true;
  options.context = 8;
  options.validation = 0;
  const std::shared_ptr<const Task> pairs =
      load_own_task(OwnData::kText, pasted("W5 w6 . W7 w8 . W9 w5 . W6 w6 . W7 w5 ."), options)
          .task;
  const auto read = as_read_by(judging(PoolKind::kFirst), pairs);
  CHECK(read->context() == 9);
  Random random(1), same(1);
  const TaskExample own = pairs->draw(random), whole = read->draw(same);
  CHECK(whole.tokens.front() == 1);
  CHECK(std::vector<int>(whole.tokens.begin() + 1, whole.tokens.end()) == own.tokens);
  CHECK(std::ranges::count(whole.tokens, 2) == 2);
  CHECK(whole.tokens.back() == 2);
  const std::span<const int> written = as_written(*read, whole.tokens);
  CHECK(std::ranges::equal(written, std::span(own.tokens).first(own.tokens.size() - 1)));
  std::filesystem::remove_all(folder);
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

}  // namespace headlight::test_class_token
