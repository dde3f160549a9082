// The gradient of every operation: the reference against central differences, Eigen against the
// reference, and what must hold where numbers are infinite or undefined.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/backward.h"
#include "tests/gradient_cases.h"

namespace headlight {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

constexpr Sizes kSmall[] = {
    {1, 1, 1, 1, 1, 1}, {1, 2, 3, 5, 2, 7}, {2, 3, 5, 2, 7, 3},
    {2, 1, 1, 7, 5, 2}, {3, 1, 7, 3, 3, 5},
};

double largest(std::span<const float> cells) {
  double most = 0;
  for (const float cell : cells) most = std::max(most, std::fabs(double{cell}));
  return most;
}

std::vector<std::unique_ptr<Backend>> both_backends() {
  std::vector<std::unique_ptr<Backend>> backends;
  backends.push_back(make_reference_backend());
  backends.push_back(make_eigen_backend(2));
  return backends;
}

}  // namespace

TEST_CASE("gradients: every operation has one, and a case here") {
  std::set<Op> tested;
  for (const GradCase& c : kGradientTable) tested.insert(c.op);
  for (const OpInfo& info : all_ops()) {
    const bool has_gradient = info.backward != nullptr;
    CHECK_MESSAGE(has_gradient, info.id << " has no gradient");
    CHECK_MESSAGE(tested.contains(info.op), info.id << " has no case here");
  }
}

TEST_CASE("gradients: every operation against central differences") {
  const auto backend = make_reference_backend();
  int empty_rows = 0, cells = 0;
  double worst = 0;
  for (const GradCase& c : kGradientTable) {
    for (const Sizes& z : kSmall) {
      Single s(c, z);
      CAPTURE(op_info(c.op).id);
      CAPTURE(shape_text(s.program().tensors.back().axes));
      s.run(*backend);
      s.run_backward(*backend, GradientUse::kWritten);
      empty_rows += c.op == Op::kSoftmax && z.b * z.h * z.t > 3;
      for (const TensorId id : s.call().in) {
        if (!s.passes(static_cast<std::size_t>(id))) continue;
        CAPTURE(id);
        const auto gradient = s.gradients[id];
        const double limit = 1e-4 * std::max(1.0, largest(gradient));
        for (std::size_t i = 0; i < gradient.size(); ++i) {
          if (s.memory[id][i] == -kInfinity) {
            CHECK(gradient[i] == 0);  // a forbidden score is felt by nobody
            continue;
          }
          const double expected = s.difference(*backend, s.memory[id][i]);
          CAPTURE(i);
          CHECK(std::fabs(gradient[i] - expected) <= limit);
          worst = std::max(worst, std::fabs(gradient[i] - expected) / limit * 1e-4);
          ++cells;
        }
      }
    }
  }
  CHECK(empty_rows > 3);
  MESSAGE(cells << " cells, largest difference " << worst);
}

TEST_CASE("gradients: they are written, added, or left alone, within their tensors") {
  for (const auto& backend : both_backends()) {
    CAPTURE(backend->name());
    for (const GradCase& c : kGradientTable) {
      for (const Sizes& z : {kSmall[2], Sizes{2, 2, 17, 19, 33, 18}}) {
        CAPTURE(op_info(c.op).id);
        Single fresh(c, z), added(c, z), less(c, z);
        for (Single* s : {&fresh, &added, &less}) s->run(*backend);
        fresh.run_backward(*backend, GradientUse::kWritten);
        for (const TensorId id : added.call().in) {
          std::fill(added.gradients[id].begin(), added.gradients[id].end(), 2.0f);
          std::fill(less.gradients[id].begin(), less.gradients[id].end(), 7.0f);
        }
        added.run_backward(*backend, GradientUse::kAdded);
        less.run_backward(*backend, GradientUse::kWritten, 0);
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
    }
  }
}

TEST_CASE("gradients: Eigen agrees with the reference") {
  const auto eigen = make_eigen_backend(2), reference = make_reference_backend();
  constexpr std::int64_t kSizes[] = {1, 2, 7, 15, 16, 17, 31, 33, 48, 49, 65};
  constexpr std::size_t kCount = std::size(kSizes);
  double worst = 0;
  const auto check = [&](const GradCase& c, const Sizes& z) {
    Single got(c, z), expected(c, z);
    CAPTURE(op_info(c.op).id);
    CAPTURE(shape_text(got.program().tensors.back().axes));
    got.run(*reference);
    expected.run(*reference);
    got.run_backward(*eigen, GradientUse::kWritten);
    expected.run_backward(*reference, GradientUse::kWritten);
    for (const TensorId id : got.call().in) {
      if (!got.passes(static_cast<std::size_t>(id))) continue;
      CAPTURE(id);
      const double error = gradient_error(got.gradients[id], expected.gradients[id]);
      CHECK(error <= 2e-5);  // with narrow packets; rows of two numbers nearly cancel in a norm
      worst = std::max(worst, error);
    }
    CHECK(got.gradients.guards_hold());
  };
  for (const GradCase& c : kGradientTable) {
    for (std::size_t i = 0; i < kCount; ++i) {
      const std::int64_t x = kSizes[i], y = kSizes[(5 * i + 3) % kCount];
      check(c, {1, 3, x, y, kSizes[(3 * i + 7) % kCount], x});
      check(c, {3, 1, y, x, x, y});
    }
    check(c, {1, 1, 3, 5, 521, 67});
    check(c, {2, 2, 131, 257, 67, 101});
  }
  MESSAGE("largest normalised error " << worst);
}

TEST_CASE("gradients: a forbidden key passes none, whatever comes back, and no NaN is made") {
  for (const auto& backend : both_backends()) {
    CAPTURE(backend->name());
    for (const std::int64_t n : {3, 16, 37}) {
      Single softmax(Op::kSoftmax, {{1, 1, 2, n}}, n, 0.5);
      const auto scores = softmax.memory[0], d = softmax.gradients[softmax.out()];
      std::fill(scores.begin(), scores.end(), -kInfinity);
      scores[1] = 3.0f;
      d[static_cast<std::size_t>(n)] = kNan;
      d[static_cast<std::size_t>(n) + 1] = kInfinity;
      softmax.run(*backend);
      softmax.run_backward(*backend, GradientUse::kWritten);
      // The one key of the first row keeps its whole weight; the second row has no key.
      for (const float g : softmax.gradients[0]) CHECK(g == 0.0f);

      Single mask(Op::kMask, {{1, 1, 1, n}, {1, 1, n}}, n, 1);
      std::fill(mask.memory[1].begin(), mask.memory[1].end(), -kInfinity);
      std::fill(mask.memory[0].begin(), mask.memory[0].end(), kNan);
      std::fill(mask.gradients[2].begin(), mask.gradients[2].end(), kNan);
      mask.memory[1][2] = 0;
      mask.gradients[2][2] = 4;
      mask.run(*backend);
      mask.run_backward(*backend, GradientUse::kWritten);
      for (std::size_t i = 0; i < mask.gradients[0].size(); ++i) {
        CHECK(mask.gradients[0][i] == (i == 2 ? 4.0f : 0.0f));
      }

      Single loss(Op::kCrossEntropy, {{1, 2, n}, {1, 2}}, n, 1);
      loss.memory[1][0] = -1;
      loss.memory[1][1] = static_cast<float>(n);  // no id of the vocabulary either
      loss.gradients[2][0] = kNan;
      loss.run(*backend);
      loss.run_backward(*backend, GradientUse::kWritten);
      for (const float g : loss.gradients[0]) CHECK(g == 0.0f);
    }
  }
}

TEST_CASE("gradients: far out, activations and losses stay finite") {
  for (const auto& backend : both_backends()) {
    CAPTURE(backend->name());
    for (const Op op : {Op::kRelu, Op::kGelu, Op::kGeluTanh}) {
      CAPTURE(op_info(op).id);
      Single s(op, {{1, 1, 8}}, 8, 1);
      const float far[] = {-3e38f, -1e20f, -100, -30, 30, 100, 1e20f, 3e38f};
      std::copy(std::begin(far), std::end(far), s.memory[0].begin());
      std::fill(s.gradients[1].begin(), s.gradients[1].end(), 1.0f);
      s.run_backward(*backend, GradientUse::kWritten);
      for (std::size_t i = 0; i < 8; ++i) CHECK(s.gradients[0][i] == (i < 4 ? 0.0f : 1.0f));
    }
    Single s(Op::kCrossEntropy, {{1, 2, 3}, {1, 2}}, 3, 1);
    const float logits[] = {1000, 0, -1000, -1000, 1000, 0};
    std::copy(std::begin(logits), std::end(logits), s.memory[0].begin());
    s.memory[1][0] = s.memory[1][1] = 0;
    std::fill(s.gradients[2].begin(), s.gradients[2].end(), 1.0f);
    s.run_backward(*backend, GradientUse::kWritten);
    const float expected[] = {0, 0, 0, -1, 1, 0};
    for (std::size_t i = 0; i < 6; ++i) CHECK(s.gradients[0][i] == expected[i]);
  }
}

}  // namespace headlight
