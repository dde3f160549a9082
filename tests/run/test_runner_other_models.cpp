// Classifiers and encoder-decoders from a sentence to a trace, and how well they do.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/model/init.h"
#include "core/run/model_input.h"
#include "core/run/run_trace.h"
#include "core/run/runner.h"
#include "core/train/data/batches.h"
#include "core/train/metrics/model_score.h"
#include "core/train/model_recipe.h"
#include "core/train/predictor.h"
#include "core/train/trainer.h"
#include "tests/support/error_text.h"

namespace headlight::test_runner_other_models {
namespace {

// A model for a task, with weights by a seed, or after some steps of training.
std::shared_ptr<const Model> model_for(const char* task_id, PositionKind positions, int steps) {
  const std::shared_ptr<const Task> task = make_task(task_id);
  Model model;
  ModelFile& file = model.file;
  file.config.layers = 1;
  file.config.heads = 2;
  file.config.d_model = 16;
  file.config.positions = positions;
  file.config.form = form_of(task->kind());
  if (file.config.form == ModelForm::kClasses) file.config.mask.kind = MaskKind::kNone;
  file.vocab = task->vocabulary().size();
  file.context = task->context();
  file.source = task->source_length();
  file.classes = task->classes();
  file.task = task_id;
  model.vocabulary = task->shared_vocabulary();
  model.name = model.ref = "small";
  const RunShape shape = shape_of(*task, file.config);
  model.weights = initial_parameters(build_program(file.config, shape), Init::kGlorot, 3);
  if (steps > 0) {
    TrainerOptions options;
    options.schedule.peak = 0.01;
    Trainer trainer(file.config, shape, std::move(model.weights), options);
    TaskBatches data(task, 16, 1, Split::kTraining);
    for (int s = 0; s < steps; ++s) trainer.step(data.next());
    model.weights.assign(trainer.parameters().begin(), trainer.parameters().end());
  }
  return std::make_shared<const Model>(std::move(model));
}

RunResult run(const std::string& sentence, const std::shared_ptr<const Model>& model,
              int most = 100) {
  Document document;
  document.sentence = sentence;
  document.config.mask = model->file.config.mask;
  document.config.positions = model->file.config.positions;
  document.max_tokens = most;
  const auto backend = make_reference_backend();
  return Runner().run(document, *backend, model);
}

// The same row by a program of its own, without a Runner.
std::vector<float> direct_logits(const Model& model, const RunInput& input) {
  RunShape shape = shape_of(model.file);
  shape.positions = static_cast<std::int64_t>(input.ids.size());
  shape.source = static_cast<std::int64_t>(input.source_ids.size());
  ModelParameters weights;
  weights.use(std::make_shared<const Model>(model));
  const auto backend = make_reference_backend();
  const auto trace =
      run_trace(std::make_shared<const Program>(build_program(model.file.config, shape)), input,
                weights, *backend);
  const auto cells = trace->tensor("logits").cells();
  return {cells.begin(), cells.end()};
}

bool same_logits(const Trace& trace, const std::vector<float>& expected) {
  const auto cells = trace.tensor("logits").cells();
  return std::equal(cells.begin(), cells.end(), expected.begin(), expected.end());
}

int largest(std::span<const float> cells) {
  return static_cast<int>(std::max_element(cells.begin(), cells.end()) - cells.begin());
}

std::string text_of(const Trace& trace) {
  std::string text;
  for (const std::string& token : trace.input().tokens) text += token;
  return text;
}

}  // namespace

TEST_CASE("runner: a classifier's sentence has the logits of its classes") {
  for (const PositionKind positions : {PositionKind::kLearned, PositionKind::kSinusoidal}) {
    const auto model = model_for("sentiment", positions, 0);
    const RunResult result = run("the book is not good .", model);
    CAPTURE(result.problem);
    REQUIRE(result.trace);
    const Trace& trace = *result.trace;
    CHECK(trace.length() == 6);
    CHECK(trace.tensor("logits").axes.back().size == 2);
    CHECK(trace.tick("class", 1) == "positive");
    CHECK(same_logits(trace, direct_logits(*model, trace.input())));
    CHECK_FALSE(
        same_logits(*run("the book is good .", model).trace, direct_logits(*model, trace.input())));
  }
  const auto model = model_for("sentiment", PositionKind::kLearned, 0);
  CHECK(has(run("the zebra is good .", model).problem, "'zebra'"));
  CHECK(run("  ", model).empty);
  const RunResult cut = run(std::string("the book is good , ") + std::string(60, '.'), model, 3);
  CHECK(cut.cut);
  CHECK(cut.trace->length() == 3);
}

TEST_CASE("runner: an encoder-decoder writes what its decoder finds most probable") {
  for (const PositionKind positions : {PositionKind::kLearned, PositionKind::kSinusoidal}) {
    const auto model = model_for("dates", positions, 30);
    const RunResult result = run("5 may 2021", model);
    CAPTURE(result.problem);
    REQUIRE(result.trace);
    const Trace& trace = *result.trace;
    const RunInput& input = trace.input();
    CAPTURE(text_of(trace));
    CHECK(input.source_tokens.size() == 10);
    CHECK(input.source_tokens[2] == "m");
    CHECK(input.tokens[0] == "[BOS]");
    CHECK(input.ids.size() > 1);
    CHECK(input.ids.size() <= 11);
    CHECK(input.tokens.size() == input.ids.size());
    CHECK(same_logits(trace, direct_logits(*model, input)));
    const auto vocab = static_cast<std::size_t>(model->file.vocab);
    const auto cells = trace.tensor("logits").cells();
    const int end = *model->vocabulary->id_of(Special::kEnd);
    for (std::size_t t = 0; t + 1 < input.ids.size(); ++t)
      CHECK(input.ids[t + 1] == largest(cells.subspan(t * vocab, vocab)));
    // It stopped because it had written enough, or at [EOS].
    CHECK((input.ids.size() == 11 || largest(cells.last(vocab)) == end));
    CHECK(std::find(input.ids.begin(), input.ids.end(), end) == input.ids.end());
    const TensorView cross = trace.tensor("decoder.blocks.0.cross_attn.pattern");
    CHECK(cross.axes[2].size == trace.length());
    CHECK(cross.axes[3].size == 10);
    CHECK(run("5 may 2021", model).trace->input().ids == input.ids);
    CHECK(run("5 may 2021", model, 4).trace->length() <= 4);
  }
}

TEST_CASE("runner: what stands behind an arrow is the decoder's row") {
  const auto model = model_for("dates", PositionKind::kLearned, 0);
  for (const char* sentence : {"5 may 2021 → 2021-05", "5 may 2021->2021-05"}) {
    const RunResult result = run(sentence, model);
    CAPTURE(result.problem);
    REQUIRE(result.trace);
    CHECK(text_of(*result.trace) == "[BOS]2021-05");
    CHECK(result.trace->input().source_ids.size() == 10);
    CHECK(same_logits(*result.trace, direct_logits(*model, result.trace->input())));
  }
  CHECK(text_of(*run("5 may 2021 → ", model).trace) == "[BOS]");
  const RunResult longer = run("5 may 2021 → 2021-05-05-05", model);
  CHECK(longer.trace->length() == 11);
  CHECK(longer.cut);
  CHECK(longer.limit == 11);
  CHECK(longer.limit_of_model);
  CHECK(longer.tokens_in_sentence == 14);
  const RunResult source = run("september 30 2021 30 2021", model);
  CHECK(source.cut);
  CHECK(source.limit == 17);
  CHECK(source.trace->input().source_tokens.size() == 17);
  CHECK(has(run("5 § 2021", model).problem, "'§'"));
  CHECK(has(run("5 may 2021 → §", model).problem, "'§'"));
  CHECK(has(run(" → 2021", model).problem, "source token"));
  CHECK(run("   ", model).empty);
  CHECK_FALSE(split_pair("2021-05-05").target);
  CHECK(split_pair("a -> b → c").target == "b → c");
  Model none = *model;
  none.vocabulary =
      std::make_shared<const Vocabulary>(TextCut::kCharacters, std::vector<std::string>{"a", "b"});
  none.file.vocab = 2;
  CHECK(has(run("ab", std::make_shared<const Model>(none)).problem, "[BOS]"));
}

TEST_CASE("score: classes and rows are counted as each alone would be") {
  for (const char* id : {"sentiment", "dates"}) {
    CAPTURE(id);
    const auto task = make_task(id);
    const auto model = model_for(id, PositionKind::kLearned, 40);
    const TaskFigures figures = score_task(model, *task, 5, 70, 2);
    TaskScore expected;
    Random random(5, 3);
    for (int i = 0; i < 70; ++i) {
      const TaskExample example = task->draw(random, Split::kValidation);
      RunInput input;
      input.ids = example.tokens;
      input.tokens.resize(input.ids.size());
      input.source_ids = example.source;
      input.source_tokens.resize(input.source_ids.size());
      const std::vector<float> logits = direct_logits(*model, input);
      const std::size_t width = example.label >= 0 ? 2 : task->vocabulary().tokens()->size();
      std::vector<int> predicted;
      for (std::size_t at = 0; at < logits.size(); at += width)
        predicted.push_back(largest(std::span(logits).subspan(at, width)));
      expected.add(example, predicted);
    }
    CHECK(figures.score.tokens == expected.tokens);
    CHECK(figures.score.tokens_right == expected.tokens_right);
    CHECK(figures.score.sequences == 70);
    CHECK(figures.score.sequences_right == expected.sequences_right);
    CHECK(figures.counted == expected.tokens);
    CHECK(figures.loss > 0);
    CHECK_THROWS_AS(Predictor(model, 1), UsageError);
    CHECK_THROWS_AS(score_task(model, *make_task("copy"), 1, 5, 1), Error);
  }
}

TEST_CASE("bundled models: a class, a date, hidden words") {
  const auto judge = load_model("bundled:sentiment");
  const auto positive = [&](const char* sentence) {
    return run(sentence, judge).trace->tensor("probs").cells()[1];
  };
  CHECK(positive("the book is good .") > 0.9);
  CHECK(positive("the book is not good .") < 0.1);
  CHECK(positive("mary does not think that the book is not good .") > 0.9);

  const auto dates = load_model("bundled:dates");
  CHECK(text_of(*run("march 5 2021", dates).trace) == "[BOS]2021-03-05");
  CHECK(text_of(*run("29 february 2048", dates).trace) == "[BOS]2048-02-29");
  CHECK(score_task(dates, *task_of(*dates), 9, 200, 1).score.sequence_accuracy() > 0.98);
  Document document;
  document.sentence = "5 may 1999 → 1999-05";
  CHECK_FALSE(choose_model(document, *dates).sentence);  // it knows what stands on both sides
  // [BOS], which comes first in the second row, stays there.
  CHECK(move_model_token(document, *dates, {2, 0}).sentence == "5 may 1999 → 9199-05");
  CHECK(move_model_token(document, *dates, {2, 0, true}).sentence == "m5 ay 1999 → 1999-05");
  document.sentence = "5 may 1999 → §";
  CHECK(choose_model(document, *dates).sentence == "march 5 2021");

  const auto masked = load_model("bundled:masked");
  const auto trace = run(bundled_recipe("masked").example, masked).trace;
  const auto vocab = static_cast<std::size_t>(masked->file.vocab);
  std::vector<std::string> guesses;
  for (std::size_t t = 0; t < trace->input().tokens.size(); ++t) {
    if (trace->input().tokens[t] == "[MASK]")
      guesses.push_back(masked->vocabulary->token(
          largest(trace->tensor("logits").cells().subspan(t * vocab, vocab))));
  }
  CHECK(guesses == std::vector<std::string>{"he", "are"});
}

}  // namespace headlight::test_runner_other_models
