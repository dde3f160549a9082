// Training on the graphics card beside the processor's: gradients, losses, evaluations, what is
// copied and made in a step, runs that change sides, and what can go wrong.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "app/gl/gl_trainer.h"
#include "core/error.h"
#include "core/model/init.h"
#include "core/random.h"
#include "core/train/trainer.h"
#include "core/train/training_run.h"
#include "tests/forward_cases.h"
#include "tests/normalised_error.h"
#include "tests/test_gl_backend_support.h"

namespace headlight {
namespace {

using test::call_counts;
using test::check_no_messages;
using test::compute_ready;
using test::counting_options;
using test::shared_backend;

constexpr double kRelative = 1e-5;

std::shared_ptr<GlBackend> shared() { return {std::shared_ptr<void>(), &shared_backend()}; }

Config small_config(ModelForm form = ModelForm::kTokens) {
  Config c;
  c.layers = 2;
  c.heads = 2;
  c.d_model = 16;
  c.positions = PositionKind::kLearned;
  c.form = form;
  c.mask.kind = form == ModelForm::kClasses ? MaskKind::kNone : MaskKind::kCausal;
  return c;
}

TrainerOptions options_for(double dropout = 0) {
  TrainerOptions options;
  options.schedule.peak = 0.01;
  options.dropout = dropout;
  options.clip = 1;
  return options;
}

// Rows of lengths 2 to all, other ones for each `number`; what follows a token is easy to learn.
TokenBatch batch_for(const RunShape& shape, const Config& c, std::int64_t rows,
                     std::uint64_t number) {
  const auto draw = [&](std::uint64_t i, std::int64_t n) {
    return static_cast<int>(scatter(1000 * number + i) % static_cast<std::uint64_t>(n));
  };
  const bool classes = c.form == ModelForm::kClasses;
  TokenBatch b{rows, shape.positions, {}, {}};
  b.sources = shape.source;
  const auto vocab = static_cast<int>(shape.vocab);
  for (std::uint64_t r = 0; r < static_cast<std::uint64_t>(rows); ++r) {
    int length = static_cast<int>(shape.positions);
    if (shape.padded) length = 2 + draw(500 + r, shape.positions - 1);
    b.lengths.push_back(length);
    if (b.sources > 0) b.source_lengths.push_back(1 + draw(700 + r, b.sources));
    for (int t = 0; t < static_cast<int>(b.positions); ++t) {
      b.tokens.push_back(draw(20 * r + static_cast<std::uint64_t>(t), vocab));
      if (!classes) b.targets.push_back(t < length ? (b.tokens.back() + 3) % vocab : -1);
    }
    if (classes) b.targets.push_back(b.tokens[20 * r % b.tokens.size()] % 4);
    for (std::uint64_t t = 0; t < static_cast<std::uint64_t>(b.sources); ++t)
      b.source.push_back(draw(400 + 10 * r + t, vocab));
  }
  return b;
}

RunShape shape_for(const Config& c) {
  RunShape shape{.batch = 1, .positions = 6, .vocab = 9, .padded = c.form != ModelForm::kTokens};
  if (c.form == ModelForm::kClasses) shape.classes = 4;
  if (c.form == ModelForm::kTranslate) shape.source = 7;
  return shape;
}

struct Pair {
  Pair(const Config& c, const TrainerOptions& options,
       std::shared_ptr<GlBackend> backend = shared())
      : config(c), shape(shape_for(c)) {
    std::vector<Tensor> start = initial_parameters(build_program(c, shape), Init::kGlorot, 5);
    here = std::make_unique<Trainer>(c, shape, start, options);
    there = std::make_unique<GlTrainer>(c, shape, std::move(start), options, std::move(backend));
  }
  TokenBatch batch(std::int64_t rows, std::uint64_t number) const {
    return batch_for(shape, config, rows, number);
  }
  Config config;
  RunShape shape;
  std::unique_ptr<Trainer> here;
  std::unique_ptr<GlTrainer> there;
};

// Of scores q · k the keys' bias has no gradient but what rounding leaves, of which Adam makes as
// much as of any other.
bool is_noise(std::string_view name) { return name.find("attn.b_K") != name.npos; }

// W_K of this b_K.
std::size_t key_weights(std::span<const Tensor> parameters, std::size_t bias) {
  std::string name = parameters[bias].name;
  name.replace(name.find("b_K"), 3, "W_K");
  std::size_t p = 0;
  while (parameters[p].name != name) ++p;
  return p;
}

double worst_gradient(const Learner& got, const Learner& expected) {
  const std::span<const Tensor> parameters = expected.parameters();
  double all = 0;
  std::int64_t cells = 0;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const auto gradient = expected.gradient(p);
    all += rms(gradient) * rms(gradient) * static_cast<double>(gradient.size());
    cells += static_cast<std::int64_t>(gradient.size());
  }
  // Below this a gradient is what rounding left (test_gradients_model.cpp).
  const double least = 1e-3 * std::sqrt(all / static_cast<double>(cells));
  double worst = 0;
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const std::size_t key = is_noise(parameters[p].name) ? key_weights(parameters, p) : p;
    const double size = key == p ? least : std::max(least, rms(expected.gradient(key)));
    worst = std::max(worst, normalised_error(got.gradient(p), expected.gradient(p), size));
  }
  return worst;
}

double worst_weight(const Learner& got, const Learner& expected) {
  double worst = 0;
  for (std::size_t p = 0; p < expected.parameters().size(); ++p) {
    const Tensor &one = got.parameters()[p], &other = expected.parameters()[p];
    if (is_noise(other.name)) continue;
    worst = std::max(worst, normalised_error(one.data, other.data, 1e-3));
  }
  return worst;
}

void check_step(const TrainStep& got, const TrainStep& expected, double limit = kRelative) {
  CHECK(got.step == expected.step);
  CHECK(got.counted == expected.counted);
  CHECK(got.learning_rate == expected.learning_rate);
  CHECK(got.loss == doctest::Approx(expected.loss).epsilon(limit));
  CHECK(got.gradient_norm == doctest::Approx(expected.gradient_norm).epsilon(limit));
}

void check_evaluation(const Evaluation& got, const Evaluation& expected) {
  CHECK(got.loss == doctest::Approx(expected.loss).epsilon(kRelative));
  CHECK(got.counted == expected.counted);
  CHECK(got.correct == expected.correct);
  CHECK(got.rows == expected.rows);
  CHECK(got.rows_correct == expected.rows_correct);
}

template <class F>
std::string problem(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& words) {
  CAPTURE(text);
  return text.find(words) != std::string::npos;
}

}  // namespace

// ---- the same numbers ----

TEST_CASE("gl trainer: a step's gradients and its loss are the processor's, for every recipe") {
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
    CHECK(pair.there->fallbacks().empty());
  };
  for (const auto& form : choices(ModelForm{})) {
    for (const double dropout : {0.0, 0.3}) {
      for (const bool accumulates : {false, true}) {
        CAPTURE(form.word);
        CAPTURE(dropout);
        CAPTURE(accumulates);
        check(small_config(form.value), options_for(dropout), accumulates);
      }
    }
  }
  Config other = small_config();
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
  for (const auto& form : choices(ModelForm{})) {
    CAPTURE(form.word);
    Pair pair(small_config(form.value), options_for(0.2));
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
    CHECK(call_counts().bytes_read - before.bytes_read == 4 * static_cast<long>(sizeof(GlFigures)));
    CHECK(call_counts().buffers == before.buffers);
    CHECK(call_counts().allocations == before.allocations);
    CHECK(call_counts().compiled == before.compiled);
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

TEST_CASE("gl trainer: a training run on the device measures, saves and goes on") {
  if (!compute_ready()) return;
  RunPlan plan = default_plan("induction");
  plan.recipe.batch = 8;
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
  CHECK(got.training == expected.training);
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

// ---- what can go wrong ----

TEST_CASE("gl trainer: where something is not finite nothing is updated") {
  if (!compute_ready()) return;
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), 3e38f}) {
    CAPTURE(bad);
    Pair pair(small_config(), options_for());
    const TokenBatch batch = pair.batch(4, 1);
    pair.there->step(batch);
    const std::vector<Tensor> before(pair.there->parameters().begin(),
                                     pair.there->parameters().end());
    pair.there->parameters()[2].data[5] = bad;
    const TrainStep step = pair.there->step(batch);
    CHECK_FALSE((std::isfinite(step.loss) && std::isfinite(step.gradient_norm)));
    CHECK(pair.there->optimizer().steps() == 1);
    for (std::size_t p = 0; p < before.size(); ++p) {
      if (p != 2) CHECK(pair.there->parameters()[p].data == before[p].data);
    }
    pair.there->parameters()[2] = before[2];
    const TrainStep next = pair.there->step(batch);
    CHECK(std::isfinite(next.loss));
    CHECK(next.step == 1);
  }
  check_no_messages();
}

TEST_CASE("gl trainer: batches that are too large run in pieces, and what never fits elsewhere") {
  if (!compute_ready()) return;
  const Config c = small_config();
  GlBackendOptions options = counting_options();
  options.limits = GlDevice::ask(real_gl()).limits;
  // Of one row the hidden layer (6 positions of 64) fits, of three it does not.
  options.limits->block_bytes = 4 * 1100;
  {
    Pair pair(c, options_for(0.2), std::make_shared<GlBackend>(options));
    const std::vector<TokenBatch> batches = {pair.batch(7, 1), pair.batch(5, 2)};
    check_step(pair.there->step(batches), pair.here->step(batches));
    CHECK(worst_gradient(*pair.there, *pair.here) <= kRelative);
    check_evaluation(pair.there->evaluate(batches[0]), pair.here->evaluate(batches[0]));
    CHECK(pair.there->fallbacks().empty());
  }
  // Long rows: the patterns and the hidden layers of one are too large.
  Config wide = c;
  wide.d_hidden = 20;
  RunShape shape{1, 60, 19};
  options.limits->block_bytes = 4 * 1100;
  std::vector<Tensor> start = initial_parameters(build_program(wide, shape), Init::kGlorot, 5);
  Trainer here(wide, shape, start, options_for());
  const auto backend = std::make_shared<GlBackend>(options);
  GlTrainer there(wide, shape, start, options_for(), backend);
  for (std::uint64_t step = 0; step < 2; ++step) {
    const TokenBatch batch = batch_for(shape, wide, 2, step);
    check_step(there.step(batch), here.step(batch), 1e-4);
    if (step == 0) CHECK(worst_gradient(there, here) <= kRelative);
    check_evaluation(there.evaluate(batch), here.evaluate(batch));
  }
  std::set<std::string> words;
  for (const std::string& fallback : there.fallbacks())
    words.insert(fallback.substr(0, fallback.find(' ')));
  CHECK(words.contains("softmax"));
  CHECK_FALSE(words.contains("layer_norm"));
  // A table that no buffer holds.
  shape.vocab = 300;
  start = initial_parameters(build_program(wide, shape), Init::kGlorot, 5);
  const std::string too_large =
      problem([&] { GlTrainer(wide, shape, start, options_for(), backend); });
  CHECK(has(too_large, "embed.W_E (vocab 300, d_model 16)"));
  CHECK(has(too_large, "1100 numbers"));
  check_no_messages();
}

TEST_CASE("gl trainer: batches, weights and dropout are checked as on the processor") {
  if (!compute_ready()) return;
  Pair pair(small_config(ModelForm::kClasses), options_for());
  TokenBatch bad = pair.batch(3, 1);
  bad.targets[1] = 4;
  CHECK(has(problem([&] { pair.there->step(bad); }), "0 to 3"));
  bad = pair.batch(3, 1);
  bad.targets.assign(3, -1);
  CHECK(problem([&] { pair.there->step(bad); }) == problem([&] { pair.here->step(bad); }));
  CHECK_FALSE(problem([&] { pair.there->step(bad); }).empty());
  CHECK(pair.there->evaluate(bad).counted == 0);
  TrainerOptions options = options_for(1.0);
  CHECK(has(problem([&] { Pair(small_config(), options); }), "0.95"));
}

TEST_CASE("gl trainer: after an error of the device the weights are those of the step before") {
  if (!compute_ready()) return;
  static GLenum error = GL_NO_ERROR;
  static int left = -1, dispatched = 0;
  static GLenum reset = GL_NO_ERROR;
  GlCalls failing = real_gl();
  failing.get_error = [] { return std::exchange(error, static_cast<GLenum>(GL_NO_ERROR)); };
  failing.get_graphics_reset_status = [] { return reset; };
  failing.dispatch_compute = [](GLuint x, GLuint y, GLuint z) {
    ++dispatched;
    if (left == 0) error = GL_OUT_OF_MEMORY;
    if (left >= 0) --left;
    glDispatchCompute(x, y, z);
  };
  GlBackendOptions options = counting_options();
  options.calls = &failing;
  const auto backend = std::make_shared<GlBackend>(options);
  const Config c = small_config();
  const auto fresh = [&] {
    error = reset = GL_NO_ERROR;
    left = -1;
    auto pair = std::make_unique<Pair>(c, options_for(), backend);
    for (std::uint64_t s = 0; s < 2; ++s) {
      pair->there->step(pair->batch(4, s));
      pair->here->step(pair->batch(4, s));
    }
    return pair;
  };
  const auto one = fresh();
  dispatched = 0;
  one->there->step(one->batch(4, 2));
  const int kernels = dispatched;
  for (const int at : {0, kernels / 2}) {  // forward, backward
    const auto pair = fresh();
    left = at;
    CHECK(has(problem([&] { pair->there->step(pair->batch(4, 2)); }), "no memory left"));
    CHECK(worst_weight(*pair->there, *pair->here) <= 1e-4);
    CHECK(pair->there->optimizer().steps() == 2);
    check_step(pair->there->step(pair->batch(4, 2)), pair->here->step(pair->batch(4, 2)), 1e-4);
  }
  {
    const auto pair = fresh();
    left = kernels - 3;  // some of the updates have been made
    CHECK(has(problem([&] { pair->there->step(pair->batch(4, 2)); }), "no memory left"));
    CHECK(has(problem([&] { pair->there->parameters(); }), "middle of a step"));
    CHECK(has(problem([&] { pair->there->optimizer(); }), "middle of a step"));
    CHECK(has(problem([&] { pair->there->step(pair->batch(4, 2)); }), "middle of a step"));
  }
  for (const bool in_step : {true, false}) {
    const auto pair = fresh();
    reset = GL_INNOCENT_CONTEXT_RESET;
    if (in_step)
      CHECK(has(problem([&] { pair->there->step(pair->batch(4, 2)); }), "stopped working"));
    CHECK_FALSE(problem([&] { pair->there->parameters(); }).empty());
    reset = GL_NO_ERROR;  // drivers say it once
    CHECK(has(problem([&] { pair->there->parameters(); }), "middle of a step"));
  }
}

TEST_CASE("gl trainer: a backend of its own comes with its context") {
  if (!compute_ready()) return;
  {
    GlBackendOptions options = counting_options();
    const auto backend = make_lone_gl_backend(options);
    const Config c = small_config();
    const RunShape shape = shape_for(c);
    const auto learner = gl_learners(backend)(
        c, shape, initial_parameters(build_program(c, shape), Init::kGlorot, 5), options_for());
    CHECK(std::isfinite(learner->step(batch_for(shape, c, 2, 1)).loss));
    CHECK(learner->memory_bytes() > 3 * 4 * static_cast<std::size_t>(learner->parameter_count()));
  }
  CHECK(test::gl_ready());  // the tests' context again
}

}  // namespace headlight
