// Spot checks: what is right passes, what is wrong is named, little is read, and they take no more
// time than they may.
#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <deque>

#include "core/base/random.h"
#include "tests/gl/faulty/faulty_support.h"

namespace headlight::test {
namespace {

// A trial's call, forward and backward, with its numbers.
struct Called {
  Called(Op op, const TrialShapes& shapes, std::int64_t width)
      : program(trial_program(op, shapes, width)) {
    for (const TensorSpec& spec : program.tensors) {
      for (auto* list : {&cells, &gradients})
        list->emplace_back(static_cast<std::size_t>(cell_count(spec.axes)), 0.0f);
    }
    for (std::size_t i = 0; i < cells.size(); ++i) {
      memory.push_back(cells[i].data());
      back.push_back(gradients[i].data());
    }
    fill_trial(program, memory, hash_text(op_info(op).id), 1.0f);
    for (FloatBuffer& gradient : gradients) {
      for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = bell(99, i);
    }
  }
  void run(GlBackend& gl) { gl.run(program, program.calls, memory); }
  void run_backward(GlBackend& gl, GradientUse use) {
    const OpCall& call = program.calls[0];
    BackwardCall step{0, {}};
    for (const TensorId in : call.in) {
      if (!op_info(call.op).is_fixed(place(in))) step.uses[place(in)] = use;
    }
    gl.run_backward(program, {&step, 1}, memory, back);
  }
  Program program;
  std::vector<FloatBuffer> cells, gradients;
  std::vector<float*> memory, back;
};

long g_bytes_read = 0;

const GlCalls& counting_reads() {
  static const GlCalls kReal = real_gl();
  static const GlCalls kCounting = [] {
    GlCalls calls = kReal;
    calls.get_buffer_sub_data = [](GLenum target, GLintptr offset, GLsizeiptr bytes, void* data) {
      g_bytes_read += static_cast<long>(bytes);
      kReal.get_buffer_sub_data(target, offset, bytes, data);
    };
    return calls;
  }();
  return kCounting;
}

std::optional<WrongResult> found_in(const std::function<void()>& run) {
  try {
    run();
  } catch (const WrongResult& wrong) {
    return wrong;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("spot checks: every operation, and every gradient, passes where they are right") {
  if (!can_compute()) return;
  GlBackend gl(checked_options());
  std::deque<Called> all;  // the backend tells programs apart by their place
  std::int64_t before = 0;
  for (const OpTrial& trial : op_trials()) {
    for (const TrialSizes& z : {TrialSizes{1, 1, 1, 1, 1, 1}, TrialSizes{2, 3, 5, 37, 41, 13}}) {
      Called& one = all.emplace_back(trial.op, trial.inputs(z), z.n);
      if (!gl.supports(one.program, one.program.calls[0])) continue;
      INFO(op_info(trial.op).id);
      before = gl.spot_checks().cells();
      CHECK_NOTHROW(one.run(gl));
      CHECK(gl.spot_checks().cells() > before);
      for (const GradientUse use : {GradientUse::kWritten, GradientUse::kAdded})
        CHECK_NOTHROW(one.run_backward(gl, use));
    }
  }
  CHECK_FALSE(gl.wrong());
  CHECK(gl.spot_checks().cells() > 1500);
  MESSAGE("cells ", gl.spot_checks().cells(), ", the worst of them took ", gl.spot_checks().worst(),
          " of what is allowed");
}

TEST_CASE("spot checks: a wrong result is named, with its shape, and so is a wrong gradient") {
  if (!can_compute()) return;
  const auto found = [](std::string_view file, std::string_view from, std::string_view to, Op op,
                        bool backward) {
    GlBackendOptions options = checked_options();
    options.texts = texts_with(file, from, to);
    GlBackend gl(options);
    Called one(op, {{2, 3, 5, 9}}, 9);
    const auto wrong = found_in([&] {
      for (int time = 0; time < 10; ++time) {  // a cell may be one that the mistake leaves as it is
        one.run(gl);
        one.run_backward(gl, GradientUse::kAdded);
      }
    });
    REQUIRE(wrong);
    CHECK(gl.wrong());
    CHECK(wrong->wrong.name == op_info(op).id);
    CHECK((wrong->wrong.kind == GlWrong::Kind::kBackward) == backward);
    CHECK(wrong->wrong.error > wrong->wrong.limit);
    const std::string words = wrong->what();
    INFO(words);
    CHECK(words.find("now computes " + std::string(backward ? "the gradient of " : "") +
                     std::string(op_info(op).id) + " of ") != std::string::npos);
    CHECK(say(Language::kChinese, wrong->message()).find("抽查") != std::string::npos);
  };
  found("shaders/softmax.comp", "/ sum;", "/ sum * 1.001;", Op::kSoftmax, false);
  found("shaders/softmax_backward.comp", "before(", "0.9 * before(", Op::kSoftmax, true);
  found("shaders/relu.comp", "> 0.0 ? x[i]", "> 0.0 ? 1.001 * x[i]", Op::kRelu, false);
}

TEST_CASE("spot checks: of a large product a row and columns are read, not the whole") {
  if (!can_compute()) return;
  GlBackendOptions options = checked_options();
  options.calls = &counting_reads();
  GlBackend gl(options);
  gl.set_fetching(false);
  Called product(Op::kLinear, {{1, 300, 400}, {400, 500}}, 1);
  product.run(gl);
  REQUIRE(gl.spot_checks().cells() > 0);
  g_bytes_read = 0;
  gl.spot_checks().set_share(0);
  // A second call reads what the first left on the device alone.
  gl.spot_checks().set_share(kAlways);
  product.run(gl);
  CHECK(g_bytes_read > 0);
  CHECK(g_bytes_read <= 4 * 4 * (500 + 400 + 16 * 400));
  gl.spot_checks().set_share(0);
  g_bytes_read = 0;
  product.run(gl);
  CHECK(g_bytes_read == 0);
}

TEST_CASE("spot checks: they take the share of the time that they may, and no more") {
  if (!can_compute()) return;
  using Clock = std::chrono::steady_clock;
  GlBackend gl(checked_options(0.01));
  Called product(Op::kLinear, {{1, 200, 200}, {200, 200}}, 1);
  product.run(gl);  // compiles
  gl.spot_checks().set_share(0.02);
  const double before = gl.spot_checks().seconds();
  const std::int64_t cells = gl.spot_checks().cells();
  const auto began = Clock::now();
  double last = 0, longest = 0;
  while (Clock::now() - began < std::chrono::seconds(2)) {
    const double spent = gl.spot_checks().seconds();
    product.run(gl);
    last = gl.spot_checks().seconds() - spent;
    longest = std::max(longest, last);
  }
  const double all = std::chrono::duration<double>(Clock::now() - began).count();
  CHECK(gl.spot_checks().cells() > cells);
  CHECK(gl.spot_checks().seconds() - before <= 0.02 * (all + 5) + longest);
  MESSAGE("checks took ", 100 * (gl.spot_checks().seconds() - before) / all, " % of the time, one ",
          1000 * longest, " ms at most");
}

TEST_CASE("spot checks: training that is right goes on, and every kind of update passes") {
  if (!can_compute()) return;
  GlBackend gl(checked_options());
  for (const OptimizerKind kind :
       {OptimizerKind::kSgd, OptimizerKind::kAdam, OptimizerKind::kAdamW}) {
    SmallTraining small;
    small.options.optimizer = default_options(kind);
    if (kind == OptimizerKind::kSgd) small.options.optimizer.momentum = 0.9;
    GlTrainer trainer = small.trainer(gl);
    int steps = 0;
    const auto wrong = train_until_wrong(trainer, small.batch, 20, steps);
    INFO((wrong ? wrong->what() : ""));
    CHECK_FALSE(wrong);
  }
  MESSAGE("cells ", gl.spot_checks().cells(), ", the worst of them took ", gl.spot_checks().worst(),
          " of what is allowed");
}

TEST_CASE("spot checks: an update that is wrong stops the next step, and the weights can be had") {
  if (!can_compute()) return;
  for (const auto& [file, from, to, kind] :
       {std::tuple{"shaders/adam.comp", "kept *", "0.999 * kept *", OptimizerKind::kAdamW},
        std::tuple{"shaders/clip.comp", "factor * g", "1.01 * factor * g", OptimizerKind::kSgd}}) {
    GlBackendOptions options = checked_options();
    options.texts = texts_with(file, from, to);
    GlBackend gl(options);
    SmallTraining small;
    small.options.optimizer = default_options(kind);
    GlTrainer trainer = small.trainer(gl);
    int steps = 0;
    const auto wrong = train_until_wrong(trainer, small.batch, 20, steps);
    REQUIRE(wrong);
    CHECK(steps >= 1);
    CHECK(wrong->wrong.kind == GlWrong::Kind::kUpdate);
    CHECK(wrong->wrong.name == word(kind));
    CHECK(trainer.optimizer().steps() == steps);  // the wrong one was made
    CHECK(std::isfinite(trainer.parameters()[0].data[0]));
  }
}

TEST_CASE("spot checks: a driver that turns wrong later is found, and since when it is in doubt") {
  if (!can_compute()) return;
  GlBackendOptions options = checked_options();
  options.calls = &turning_calls();
  g_right_uniforms = kNeverWrong;
  GlBackend gl(options);
  const SmallTraining small;
  GlTrainer trainer = small.trainer(gl);
  for (int i = 0; i < 5; ++i) trainer.step(small.batch);
  g_right_uniforms = 0;
  int steps = 0;
  const auto wrong = train_until_wrong(trainer, small.batch, 50, steps);
  g_right_uniforms = kNeverWrong;
  REQUIRE(wrong);
  CHECK(steps < 10);
  CHECK(wrong->message().id == "gpu.wrong_since");
  const std::string words = wrong->what();
  INFO(words);
  CHECK(words.find("at step") != std::string::npos);
  CHECK(std::isfinite(trainer.parameters()[0].data[0]));  // they are not lost
}

}  // namespace headlight::test
