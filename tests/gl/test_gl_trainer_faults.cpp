// Training on the graphics card when something is amiss: numbers that are not finite, batches and
// tables that are too large, errors of the device.
#include <doctest/doctest.h>

#include <limits>
#include <set>
#include <utility>

#include "tests/gl/test_gl_trainer_support.h"

namespace headlight::test_gl_trainer_faults {

using test::check_no_messages;
using test::compute_ready;
using test::counting_options;
using test::shared_backend;

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
  options.table = KernelTable::of(*options.limits);  // a card's, wherever this runs
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
    const TokenBatch batch = batch_for(shape, 2, step);
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
      error_of([&] { GlTrainer(wide, shape, start, options_for(), backend); });
  CHECK(has(too_large, "embed.W_E (vocab 300, d_model 16)"));
  CHECK(has(too_large, "1100 numbers"));
  check_no_messages();
}

TEST_CASE("gl trainer: batches, weights and dropout are checked as on the processor") {
  if (!compute_ready()) return;
  Pair pair(small_config(ModelForm::kClasses), options_for());
  TokenBatch bad = pair.batch(3, 1);
  bad.targets[1] = 4;
  CHECK(has(error_of([&] { pair.there->step(bad); }), "0 to 3"));
  bad = pair.batch(3, 1);
  bad.targets.assign(3, -1);
  CHECK(error_of([&] { pair.there->step(bad); }) == error_of([&] { pair.here->step(bad); }));
  CHECK_FALSE(error_of([&] { pair.there->step(bad); }).empty());
  CHECK(pair.there->evaluate(bad).counted == 0);
  TrainerOptions options = options_for(1.0);
  CHECK(has(error_of([&] { Pair(small_config(), options); }), "0.95"));
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
    CHECK(has(error_of([&] { pair->there->step(pair->batch(4, 2)); }), "no memory left"));
    CHECK(worst_weight(*pair->there, *pair->here) <= 1e-4);
    CHECK(pair->there->optimizer().steps() == 2);
    check_step(pair->there->step(pair->batch(4, 2)), pair->here->step(pair->batch(4, 2)), 1e-4);
  }
  {
    const auto pair = fresh();
    left = kernels - 3;  // some of the updates have been made
    CHECK(has(error_of([&] { pair->there->step(pair->batch(4, 2)); }), "no memory left"));
    CHECK(has(error_of([&] { pair->there->parameters(); }), "middle of a step"));
    CHECK(has(error_of([&] { pair->there->optimizer(); }), "middle of a step"));
    CHECK(has(error_of([&] { pair->there->step(pair->batch(4, 2)); }), "middle of a step"));
  }
  for (const bool in_step : {true, false}) {
    const auto pair = fresh();
    reset = GL_INNOCENT_CONTEXT_RESET;
    if (in_step)
      CHECK(has(error_of([&] { pair->there->step(pair->batch(4, 2)); }), "stopped working"));
    CHECK_FALSE(error_of([&] { pair->there->parameters(); }).empty());
    reset = GL_NO_ERROR;  // drivers say it once
    CHECK(has(error_of([&] { pair->there->parameters(); }), "middle of a step"));
  }
}

TEST_CASE("gl trainer: a backend of its own comes with its context") {
  if (!compute_ready()) return;
  {
    // Not with the tests' checked calls: their names of buffers and programs are of one context.
    GlBackendOptions options;
    options.program_folder.clear();
    const auto backend = make_lone_gl_backend(options);
    const Config c = small_config();
    const RunShape shape = shape_for(c);
    const auto learner = gl_learners(backend)(
        c, shape, initial_parameters(build_program(c, shape), Init::kGlorot, 5), options_for());
    CHECK(std::isfinite(learner->step(batch_for(shape, 2, 1)).loss));
    CHECK(learner->memory_bytes() > 3 * 4 * static_cast<std::size_t>(learner->parameter_count()));
  }
  CHECK(test::gl_ready());  // the tests' context again
}

}  // namespace headlight::test_gl_trainer_faults
