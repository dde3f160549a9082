// Recurrent operations and the convolution: known numbers, and long texts on the processor beside
// the reference.
#include <doctest/doctest.h>

#include <cmath>

#include "core/backends/backend.h"
#include "core/base/random.h"
#include "core/ops/mixers/convolution.h"
#include "core/ops/mixers/gru.h"
#include "tests/support/forward_cases.h"
#include "tests/support/op_cases.h"

namespace headlight::test_mixer_ops {
namespace {

Tensor filled(std::string name, std::vector<Axis> axes, std::vector<float> cells) {
  return {std::move(name), std::move(axes), FloatBuffer(cells.begin(), cells.end())};
}

}  // namespace

TEST_CASE("recurrence: the state of a step is made of the one before, also from the end") {
  const Axis one{"batch", 1}, three{"position", 3};
  const Tensor a = filled("a", {one, three, {"next_state", 1}}, {0.5f, -0.25f, 1.0f});
  const Tensor u = filled("U", {{"state", 1}, {"next_state", 1}}, {2.0f});
  const Tensor present = filled("present", {one, three}, {1, 1, 1});
  const Computed forth({Op::kRecurrence, {a, u, present}});
  const double s0 = std::tanh(0.5), s1 = std::tanh(-0.25 + 2 * s0);
  CHECK(forth.out().data[1] == doctest::Approx(s1));
  CHECK(forth.out().data[2] == doctest::Approx(std::tanh(1 + 2 * s1)));
  OpParams reversed;
  reversed.reversed = true;
  const Computed back({Op::kRecurrence, {a, u, present}, reversed});
  CHECK(back.out().data[2] == doctest::Approx(std::tanh(1.0)));
  CHECK(back.out().data[1] == doctest::Approx(std::tanh(-0.25 + 2 * std::tanh(1.0))));
  // Padding keeps the state.
  const Computed padded({Op::kRecurrence, {a, u, filled("present", {one, three}, {1, 0, 1})}});
  CHECK(padded.out().data[1] == padded.out().data[0]);
  CHECK(padded.out().data[2] == doctest::Approx(std::tanh(1 + 2 * s0)));
}

TEST_CASE("gru: a gate of 1 keeps the state, one of 0 renews it") {
  const Axis one{"batch", 1}, two{"position", 2};
  for (const float z : {30.0f, -30.0f}) {
    const Tensor a = filled("a", {one, two, {"gate", 3}}, {0, -30, 0.7f, 0, z, -0.4f});
    const Tensor u = filled("U", {{"state", 1}, {"gate", 3}}, {0, 0, 1.5f});
    const Tensor present = filled("present", {one, two}, {1, 1});
    const Computed made({Op::kGru, {a, u, present}});
    const double first = std::tanh(0.7);
    CHECK(made.out().data[0] == doctest::Approx(first));
    // r = σ(0) = 1/2
    const double renewed = std::tanh(-0.4 + 0.5 * 1.5 * first);
    CHECK(made.out().data[1] == doctest::Approx(z > 0 ? first : renewed));
    const std::int64_t cell[] = {0, 1, 0};
    CHECK(gru_gates(made.args(), cell).reset == doctest::Approx(0.5));
    CHECK(gru_gates(made.args(), cell).candidate == doctest::Approx(renewed));
  }
}

TEST_CASE("convolution: windows look back, or lie around the row as PyTorch's padding does") {
  OpParams causal, centred;
  causal.causal = true;
  causal.dilation = 2;
  CHECK(window_shift(0, 3, causal) == -4);
  CHECK(window_shift(2, 3, causal) == 0);
  centred.dilation = 1;
  CHECK(window_shift(0, 3, centred) == -1);
  CHECK(window_shift(0, 4, centred) == -1);  // 'same' padding has the smaller half on the left
  CHECK(window_shift(3, 4, centred) == 2);
}

TEST_CASE("mixers: long texts on the processor are the reference's, on any number of threads") {
  // Weights below 1 in sum, so that rounding does not grow from step to step.
  for (const Op op : {Op::kRecurrence, Op::kGru, Op::kConvolution}) {
    for (const bool reversed : {false, true}) {
      const bool gru = op == Op::kGru, window = op == Op::kConvolution;
      const std::int64_t n = 19, wide = gru ? 3 * n : n;
      std::vector<Axis> u = {{"feature", n}, {"feature", wide}};
      if (window) u.insert(u.begin(), {"feature", 5});
      std::vector<std::vector<Axis>> inputs = {
          {{"feature", 35}, {"feature", 40}, {"feature", window ? n : wide}},
          u,
          {{"feature", 35}, {"feature", 40}}};
      TrialShapes shapes;
      for (const auto& axes : inputs) {
        shapes.emplace_back();
        for (const Axis& axis : axes) shapes.back().push_back(axis.size);
      }
      Program program = trial_program(op, shapes, 3, 1);
      program.calls[0].params.reversed = program.calls[0].params.causal = reversed;
      Memory expected(program), one(program), three(program);
      fill(expected.cells(0), 1, 1.0f);
      fill(expected.cells(1), 2, 0.05f);
      const auto present = expected.cells(2);
      for (std::size_t i = 0; i < present.size(); ++i) present[i] = scatter(i) % 5 == 0 ? 0 : 1;
      copy_inputs(program, expected, one);
      copy_inputs(program, expected, three);
      expected.run(*make_reference_backend());
      one.run(*make_cpu_backend(1));
      three.run(*make_cpu_backend(3));
      const TensorId out = program.calls[0].out;
      CHECK(normalised_error(one.cells(out), expected.cells(out)) < 1e-10);
      CHECK(std::ranges::equal(one.cells(out), three.cells(out)));
      CHECK(one.guards_hold());
    }
  }
}

}  // namespace headlight::test_mixer_ops
