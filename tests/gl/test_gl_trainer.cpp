// Training on the graphics card beside the processor's: gradients, losses, evaluations, what is
// copied and made in a step, and runs that change sides.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/train/training_run.h"
#include "tests/gl/test_gl_trainer_support.h"
#include "tests/support/forward_cases.h"

namespace headlight::test_gl_trainer {

using test::call_counts;
using test::check_no_messages;
using test::compute_ready;
using test::shared_backend;

// ---- the same numbers ----

TEST_CASE(
    "gl trainer: a step's gradients and its loss are the processor's, for every configuration") {
  if (!compute_ready()) return;
  double worst = 0;
  const auto check = [&](const Config& c, const TrainerOptions& options, bool accumulates) {
    Pair pair(c, options);
    std::vector<TokenBatch> batches = {pair.batch(5, 1)};
    if (accumulates) {
      batches.push_back(pair.batch(3, 2));
      batches.push_back(pair.batch(5, 3));
    }
    check_step(pair.there->step(batches), pair.here->step(batches));
    const double error = worst_gradient(*pair.there, *pair.here);
    CHECK(error <= kRelative);
    worst = std::max(worst, error);
    CHECK(pair.there->guards_hold());
    CHECK(test::only_waiting(shared_backend()));
  };
  for (const auto& form : choices(ModelForm{})) {
    for (const double dropout : {0.0, 0.3}) {
      for (const bool accumulates : {false, true}) {
        CAPTURE(form.word);
        CAPTURE(dropout);
        CAPTURE(accumulates);
        check(small_config(form.value), options_for(dropout), accumulates);
        check(llama_config(form.value), options_for(dropout), accumulates);
      }
    }
  }
  Config other = small_config(ModelForm::kClasses);
  other.token_head = true;
  check(other, options_for(0.2), true);
  other.tied_head = true;
  check(other, options_for(), false);
  other = small_config();
  other.block = BlockKind::kPostNorm;
  other.activation = Activation::kRelu;
  other.scores = ScoreKind::kAdditive;
  other.positions = PositionKind::kSinusoidal;
  other.bias = false;
  check(other, options_for(0.2), true);
  other = small_config();
  other.block = BlockKind::kAttention;
  other.layers = 1;
  other.attention = AttentionKind::kWide;
  TrainerOptions unclipped = options_for();
  unclipped.clip = 0;
  check(other, unclipped, false);
  check_no_messages();
  MESSAGE("largest relative error of a gradient " << worst);
}

TEST_CASE("gl trainer: updates of every optimizer, and which parameters decay") {
  if (!compute_ready()) return;
  for (const auto& choice : choices(OptimizerKind{})) {
    for (const bool matrices_only : {false, true}) {
      CAPTURE(choice.word);
      CAPTURE(matrices_only);
      TrainerOptions options = options_for();
      options.optimizer = default_options(choice.value);
      options.optimizer.weight_decay = 0.5;
      options.optimizer.momentum = 0.8;
      options.optimizer.decay_matrices_only = matrices_only;
      options.optimizer.epsilon = 1e-4;  // gradients that are next to nothing decide less
      Pair pair(small_config(), options);
      for (std::uint64_t step = 0; step < 4; ++step) {
        const TokenBatch batch = pair.batch(6, step);
        check_step(pair.there->step(batch), pair.here->step(batch), 1e-4);
      }
      CHECK(worst_weight(*pair.there, *pair.here) <= 1e-4);
      CHECK(pair.there->optimizer().steps() == 4);
      const auto got = pair.there->optimizer().state(), expected = pair.here->optimizer().state();
      REQUIRE(got.size() == expected.size());
      CHECK_FALSE(got.empty());
      for (std::size_t i = 0; i < got.size(); ++i) {
        CHECK(got[i].name == expected[i].name);
        if (is_noise(got[i].name)) continue;
        CHECK(normalised_error(std::get<std::span<const float>>(got[i].data),
                               std::get<std::span<const float>>(expected[i].data), 1e-6) <= 1e-3);
      }
    }
  }
  check_no_messages();
}

TEST_CASE("gl trainer: an evaluation is the processor's, of any number of rows") {
  if (!compute_ready()) return;
  std::vector<Config> configs = {small_config(ModelForm::kClasses)};
  configs[0].token_head = true;
  for (const auto& form : choices(ModelForm{})) configs.push_back(small_config(form.value));
  for (const Config& config : configs) {
    CAPTURE(word(config.form));
    CAPTURE(config.token_head);
    Pair pair(config, options_for(0.2));
    for (std::uint64_t step = 0; step < 30; ++step) pair.here->step(pair.batch(16, step));
    std::copy(pair.here->parameters().begin(), pair.here->parameters().end(),
              pair.there->parameters().begin());
    for (const std::int64_t rows : {1, 5, 64, 7, 11, 13, 64}) {  // more than are kept
      const TokenBatch batch = pair.batch(rows, 77 + static_cast<std::uint64_t>(rows));
      const Evaluation expected = pair.here->evaluate(batch);
      check_evaluation(pair.there->evaluate(batch), expected);
      if (rows == 64) CHECK(expected.correct > 0);
    }
  }
  check_no_messages();
}

TEST_CASE("gl trainer: 200 steps from the same start have the processor's losses") {
  if (!compute_ready()) return;
  TrainerOptions options = options_for();
  options.schedule = {ScheduleKind::kCosine, 0.01, 0, 10, 200};
  Config c = small_config();
  c.layers = 1;
  Pair pair(c, options);
  double worst = 0, first = 0, last = 0;
  for (std::uint64_t step = 0; step < 200; ++step) {
    const TokenBatch batch = pair.batch(8, step);
    const double got = pair.there->step(batch).loss, expected = pair.here->step(batch).loss;
    worst = std::max(worst, std::fabs(got - expected) / expected);
    if (step == 0) first = expected;
    last = expected;
  }
  CHECK(worst <= 0.01);
  CHECK(last < 0.2 * first);
  check_no_messages();
  MESSAGE("losses from " << first << " to " << last << ", at most " << worst << " apart");
}

// ---- what goes to and fro ----

TEST_CASE("gl trainer: nothing comes back of a step but its figures, and no buffer is made") {
  if (!compute_ready()) return;
  for (const auto& form : choices(ModelForm{})) {
    CAPTURE(form.word);
    Pair pair(small_config(form.value), options_for(0.1));
    const std::vector<TokenBatch> batches = {pair.batch(6, 1), pair.batch(6, 2)};
    pair.there->step(batches);
    pair.there->evaluate(pair.batch(9, 3));
    const test::CallCounts before = call_counts();
    for (int repeat = 0; repeat < 3; ++repeat) pair.there->step(batches);
    pair.there->evaluate(pair.batch(9, 3));
    // Of classes an evaluation also says which one each row was taken for: the logits and
    // the loss of each.
    const std::int64_t figures = 4 * static_cast<std::int64_t>(sizeof(GlFigures));
    const bool classes = form.value == ModelForm::kClasses;
    const std::int64_t chosen = classes ? 9 * (pair.shape.classes + 1) * 4 : 0;
    CHECK(call_counts().bytes_read - before.bytes_read == figures + chosen);
    CHECK(call_counts().buffers == before.buffers);
    CHECK(call_counts().allocations == before.allocations);
    CHECK(call_counts().compiled == before.compiled);
    // What is left out is drawn on the device.
    Pair whole(small_config(form.value), options_for(0));
    const auto uploads = [&](GlTrainer& trainer) {
      trainer.step(batches);
      const long uploaded = call_counts().uploads;
      trainer.step(batches);
      return call_counts().uploads - uploaded;
    };
    CHECK(uploads(*pair.there) == uploads(*whole.there));
  }
  CHECK(sizeof(GlFigures) <= 32);
  check_no_messages();
}

TEST_CASE("gl trainer: weights that are written count from the next step on") {
  if (!compute_ready()) return;
  Pair pair(small_config(), options_for());
  const TokenBatch batch = pair.batch(4, 1);
  pair.there->step(batch);
  pair.here->step(batch);
  for (Learner* learner :
       {static_cast<Learner*>(pair.there.get()), static_cast<Learner*>(pair.here.get())})
    learner->parameters()[3].data[1] += 2.5f;
  const test::CallCounts before = call_counts();
  const TrainStep expected = pair.here->step(batch);
  check_step(pair.there->step(batch), expected);
  CHECK(call_counts().uploads - before.uploads <= 4);  // that parameter, and no other
  CHECK(worst_weight(*pair.there, *pair.here) <= 1e-4);
  pair.there->optimizer().reset();
  pair.here->optimizer().reset();
  check_step(pair.there->step(batch), pair.here->step(batch), 1e-4);
  CHECK(worst_weight(*pair.there, *pair.here) <= 1e-3);
  check_no_messages();
}

TEST_CASE("gl trainer: others may use its backend between two steps") {
  if (!compute_ready()) return;
  Pair pair(small_config(), options_for());
  const TokenBatch batch = pair.batch(4, 1);
  for (int step = 0; step < 3; ++step) {
    check_step(pair.there->step(batch), pair.here->step(batch), 1e-4);
    const Program sum = single_call(Op::kAdd, {{4}, {4}}, 4);
    Memory memory(sum);
    fill(memory.cells(0), 1, 1.0f);
    memory.run(shared_backend());
    CHECK(memory.cells(2)[3] == memory.cells(0)[3] + memory.cells(1)[3]);
  }
  check_no_messages();
}

TEST_CASE("gl trainer: a run goes on on the other side, and says what one side would") {
  if (!compute_ready()) return;
  TrainerOptions options = options_for(0.2);
  options.optimizer.epsilon = 1e-4;
  Pair pair(small_config(), options);
  const auto copy_of = [&](const Learner& from, bool to_device) -> std::unique_ptr<Learner> {
    std::vector<Tensor> weights(from.parameters().begin(), from.parameters().end());
    std::unique_ptr<Learner> made;
    if (to_device) {
      made = std::make_unique<GlTrainer>(pair.config, pair.shape, std::move(weights), options,
                                         shared());
    } else {
      made = std::make_unique<Trainer>(pair.config, pair.shape, std::move(weights), options);
    }
    made->optimizer().restore(from.optimizer().steps(), from.optimizer().state());
    return made;
  };
  std::unique_ptr<Learner> wanders = std::move(pair.there);
  for (std::uint64_t step = 0; step < 12; ++step) {
    const TokenBatch batch = pair.batch(6, step);
    check_step(wanders->step(batch), pair.here->step(batch), 1e-3);
    if (step % 3 == 2) wanders = copy_of(*wanders, wanders->device().empty());
  }
  CHECK(worst_weight(*wanders, *pair.here) <= 1e-2);
  check_no_messages();
}

namespace {

// What a run saves of its state, but for the last validation: two devices differ in its last
// digits.
std::string without_score(const std::string& training) {
  nlohmann::json json = nlohmann::json::parse(training);
  CHECK(json.erase("validation") == 1);
  return json.dump();
}

}  // namespace

TEST_CASE("gl trainer: a training run on the device measures, saves and goes on") {
  if (!compute_ready()) return;
  RunPlan plan = default_plan("induction");
  plan.settings.batch = 8;
  plan.config.layers = 1;
  plan.config.heads = 2;
  plan.config.d_model = 16;
  plan.stop.steps = 12;
  const std::shared_ptr<const Task> task = make_plan_task(plan).task;
  TrainingRun here(plan, task, 1), there(plan, task, 1, kHistoryBytes, gl_learners(shared()));
  CHECK(here.learner().device().empty());
  CHECK(there.learner().device() == shared_backend().device().renderer);
  while (!here.finished()) here.step();
  while (!there.finished()) there.step();
  REQUIRE(there.history().curve().size() == here.history().curve().size());
  for (std::size_t i = 0; i < here.history().curve().size(); ++i)
    check_step(there.history().curve()[i], here.history().curve()[i], 1e-3);
  REQUIRE(there.history().validation().size() == here.history().validation().size());
  CHECK(there.history().validation().back().loss ==
        doctest::Approx(here.history().validation().back().loss).epsilon(1e-3));
  CHECK(there.history().snapshots().size() == here.history().snapshots().size());
  // The newest weights, in the model and in the checkpoint.
  const RunCheckpoint got = there.checkpoint(), expected = here.checkpoint();
  CHECK(got.step == 12);
  CHECK(without_score(got.training) == without_score(expected.training));
  REQUIRE(got.weights.size() == expected.weights.size());
  for (std::size_t i = 0; i < got.weights.size(); ++i) {
    if (!is_noise(got.weights[i].name))
      CHECK(normalised_error(got.weights[i].data, expected.weights[i].data, 1e-3) <= 1e-2);
    CHECK(std::equal(got.weights[i].data.begin(), got.weights[i].data.end(),
                     there.model()->weights[i].data.begin()));
  }
  REQUIRE(got.optimizer.size() == expected.optimizer.size());
  for (std::size_t i = 0; i < got.optimizer.size(); ++i) {
    if (is_noise(got.optimizer[i].name)) continue;
    CHECK(normalised_error(got.optimizer[i].data, expected.optimizer[i].data, 1e-5) <= 1e-2);
  }
  check_no_messages();
}

}  // namespace headlight::test_gl_trainer
