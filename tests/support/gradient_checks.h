// What holds for the gradients of every backend, as checks: for the tests of each of them.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>

#include "tests/support/gradient_cases.h"

namespace headlight {

/// Runs one case forward on the reference backend and backward on both. Every gradient's error
/// (gradient_error) has to be within `limit`; gives back the largest.
inline double check_gradient(Backend& backend, Backend& reference, const GradCase& c,
                             const Sizes& sizes, double limit) {
  Single got(c, sizes), expected(c, sizes);
  CAPTURE(op_info(c.op).id);
  CAPTURE(shape_text(got.program().tensors.back().axes));
  got.run(reference);
  expected.run(reference);
  got.run_backward(backend, GradientUse::kWritten);
  expected.run_backward(reference, GradientUse::kWritten);
  double worst = 0;
  for (const TensorId id : got.call().in) {
    if (!got.passes(static_cast<std::size_t>(id))) continue;
    CAPTURE(id);
    const double error = gradient_error(got.gradients[id], expected.gradients[id]);
    CHECK(error <= limit);
    worst = std::max(worst, error);
  }
  CHECK(got.gradients.guards_hold());
  return worst;
}

/// Calls f(case, sizes) for every operation and many shapes: 1, primes, and around the widths of
/// packets and tiles.
inline void for_gradient_shapes(const std::function<void(const GradCase&, const Sizes&)>& f) {
  constexpr std::int64_t kSizes[] = {1, 2, 7, 15, 16, 17, 31, 33, 63, 64, 65};
  constexpr std::size_t kCount = std::size(kSizes);
  for (const GradCase& c : kGradientTable) {
    for (std::size_t i = 0; i < kCount; ++i) {
      const std::int64_t x = kSizes[i], y = kSizes[(5 * i + 3) % kCount];
      f(c, {1, 3, x, y, kSizes[(3 * i + 7) % kCount], x});
      f(c, {i % 2 ? 3 : 1, 1, y, x, x, y});
    }
    f(c, {1, 1, 3, 5, 521, 67});
    f(c, {2, 2, 131, 257, 67, 101});
  }
}

/// Gradients are written over what was there, added to it, or left alone, and nothing is touched
/// beyond their tensors.
inline void check_gradient_uses(Backend& backend, Backend& forward, const GradCase& c,
                                const Sizes& sizes) {
  CAPTURE(op_info(c.op).id);
  Single fresh(c, sizes), added(c, sizes), less(c, sizes);
  for (Single* s : {&fresh, &added, &less}) s->run(forward);
  for (const TensorId id : added.call().in) {
    const auto f = fresh.gradients[id], a = added.gradients[id], l = less.gradients[id];
    std::fill(f.begin(), f.end(), std::numeric_limits<float>::quiet_NaN());
    std::fill(a.begin(), a.end(), 2.0f);
    std::fill(l.begin(), l.end(), 7.0f);
  }
  fresh.run_backward(backend, GradientUse::kWritten);
  added.run_backward(backend, GradientUse::kAdded);
  less.run_backward(backend, GradientUse::kWritten, 0);
  for (const TensorId id : added.call().in) {
    const auto a = added.gradients[id], f = fresh.gradients[id], l = less.gradients[id];
    const bool passes = added.passes(static_cast<std::size_t>(id));
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (passes) CHECK(a[i] == doctest::Approx(2.0 + f[i]).epsilon(1e-5));
      if (!passes) CHECK(a[i] == 2.0f);
      if (passes && id != 0) CHECK(l[i] == f[i]);
      if (id == 0) CHECK(l[i] == 7.0f);
    }
  }
  CHECK(fresh.gradients.guards_hold());
  CHECK(added.gradients.guards_hold());
  CHECK(fresh.memory.guards_hold());
}

/// A forbidden key passes no gradient and a target that is not counted none either, whatever comes
/// back; and no NaN is made of it. For rows of n.
inline void check_forbidden_keys(Backend& backend, std::int64_t n) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  Single softmax(Op::kSoftmax, {{1, 1, 2, n}}, n, 0.5);
  const auto scores = softmax.memory[0], d = softmax.gradients[softmax.out()];
  std::fill(scores.begin(), scores.end(), -kInfinity);
  scores[1] = 3.0f;
  d[static_cast<std::size_t>(n)] = kNan;
  d[static_cast<std::size_t>(n) + 1] = kInfinity;
  softmax.run(backend);
  softmax.run_backward(backend, GradientUse::kWritten);
  // The one key of the first row keeps its whole weight; the second row has no key.
  for (const float g : softmax.gradients[0]) CHECK(g == 0.0f);

  Single mask(Op::kMask, {{1, 1, 1, n}, {1, 1, n}}, n, 1);
  std::fill(mask.memory[1].begin(), mask.memory[1].end(), -kInfinity);
  std::fill(mask.memory[0].begin(), mask.memory[0].end(), kNan);
  std::fill(mask.gradients[2].begin(), mask.gradients[2].end(), kNan);
  mask.memory[1][2] = 0;
  mask.gradients[2][2] = 4;
  mask.run(backend);
  mask.run_backward(backend, GradientUse::kWritten);
  for (std::size_t i = 0; i < mask.gradients[0].size(); ++i) {
    CHECK(mask.gradients[0][i] == (i == 2 ? 4.0f : 0.0f));
  }

  Single loss(Op::kCrossEntropy, {{1, 2, n}, {1, 2}}, n, 1);
  loss.memory[1][0] = -1;
  loss.memory[1][1] = static_cast<float>(n);  // no id of the vocabulary either
  loss.gradients[2][0] = kNan;
  loss.run(backend);
  loss.run_backward(backend, GradientUse::kWritten);
  for (const float g : loss.gradients[0]) CHECK(g == 0.0f);
}

/// Far out, gradients of activations are 0 or 1, those of losses 0, 1 or -1.
inline void check_far_out(Backend& backend) {
  for (const Op op : {Op::kRelu, Op::kGelu, Op::kGeluTanh, Op::kSilu}) {
    CAPTURE(op_info(op).id);
    Single s(op, {{1, 1, 8}}, 8, 1);
    const float far[] = {-3e38f, -1e20f, -100, -30, 30, 100, 1e20f, 3e38f};
    std::copy(std::begin(far), std::end(far), s.memory[0].begin());
    std::fill(s.gradients[1].begin(), s.gradients[1].end(), 1.0f);
    s.run_backward(backend, GradientUse::kWritten);
    const double tail = op == Op::kSilu ? 1e-11 : 0;  // of the logistic function at -30
    for (std::size_t i = 0; i < 8; ++i)
      CHECK(std::fabs(s.gradients[0][i] - (i < 4 ? 0.0f : 1.0f)) <= tail);
  }
  Single s(Op::kCrossEntropy, {{1, 2, 3}, {1, 2}}, 3, 1);
  const float logits[] = {1000, 0, -1000, -1000, 1000, 0};
  std::copy(std::begin(logits), std::end(logits), s.memory[0].begin());
  s.memory[1][0] = s.memory[1][1] = 0;
  std::fill(s.gradients[2].begin(), s.gradients[2].end(), 1.0f);
  s.run_backward(backend, GradientUse::kWritten);
  const float expected[] = {0, 0, 0, -1, 1, 0};
  for (std::size_t i = 0; i < 6; ++i) CHECK(s.gradients[0][i] == expected[i]);
}

}  // namespace headlight
