// The gradient of every operation: the reference against central differences, Eigen against the
// reference, and what must hold where numbers are infinite or undefined.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/autodiff/backward.h"
#include "tests/support/gradient_checks.h"

namespace headlight::test_gradients_ops {
namespace {

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
  backends.push_back(make_cpu_backend(2));
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
      check_gradient_uses(*backend, *backend, c, kSmall[2]);
      check_gradient_uses(*backend, *backend, c, {2, 2, 17, 19, 33, 18});
    }
  }
}

// What training may leave out of memory: spoilt, it changes nothing.
TEST_CASE("gradients: none reads what it is not said to read") {
  for (const auto& backend : both_backends()) {
    CAPTURE(backend->name());
    int spoilt = 0;
    for (const GradCase& c : kGradientTable) {
      CAPTURE(op_info(c.op).id);
      for (const Sizes& z : {kSmall[2], Sizes{2, 2, 17, 19, 33, 18}}) {
        Single s(c, z);
        s.run(*backend);
        s.run_backward(*backend, GradientUse::kWritten);
        std::vector<std::vector<float>> before;
        for (const TensorId id : s.call().in)
          before.emplace_back(s.gradients[id].begin(), s.gradients[id].end());
        const GradientReads& reads = op_info(c.op).gradient_reads;
        const auto spoil = [&](TensorId id) {
          std::ranges::fill(s.memory[id], std::numeric_limits<float>::quiet_NaN());
          ++spoilt;
        };
        if (!reads.result) spoil(s.out());
        for (std::size_t i = 0; i < before.size(); ++i) {
          if (!reads.inputs[i]) spoil(s.call().in[i]);
        }
        s.run_backward(*backend, GradientUse::kWritten);
        for (std::size_t i = 0; i < before.size(); ++i)
          CHECK(std::ranges::equal(before[i], s.gradients[s.call().in[i]]));
      }
    }
    CHECK(spoilt > 60);
  }
}

TEST_CASE("gradients: the cpu backend agrees with the reference") {
  const auto cpu = make_cpu_backend(2), reference = make_reference_backend();
  double worst = 0;
  for_gradient_shapes([&](const GradCase& c, const Sizes& sizes) {
    // With narrow packets; rows of two numbers nearly cancel in a norm.
    worst = std::max(worst, check_gradient(*cpu, *reference, c, sizes, 2e-5));
  });
  MESSAGE("largest normalised error " << worst);
}

TEST_CASE("gradients: a forbidden key passes none, whatever comes back, and no NaN is made") {
  for (const auto& backend : both_backends()) {
    CAPTURE(backend->name());
    for (const std::int64_t n : {3, 16, 37}) check_forbidden_keys(*backend, n);
  }
}

TEST_CASE("gradients: far out, activations and losses stay finite") {
  for (const auto& backend : both_backends()) {
    CAPTURE(backend->name());
    check_far_out(*backend);
  }
}

}  // namespace headlight::test_gradients_ops
