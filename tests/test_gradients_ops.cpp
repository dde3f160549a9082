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
#include "core/random.h"

namespace headlight {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// b batch, h heads, t and s positions, n and m widths
struct Sizes {
  std::int64_t b, h, t, s, n, m;
};
using Shapes = std::vector<std::vector<std::int64_t>>;

/// One row of the table: the shapes of an operation's inputs, and what it is asked for.
struct GradCase {
  Op op;
  Shapes (*inputs)(const Sizes&);
  double temperature = 1;
};

// clang-format off
const GradCase kTable[] = {
    {Op::kEmbed, [](const Sizes& z) -> Shapes { return {{z.b, z.t}, {z.m, z.n}}; }},
    {Op::kSinusoid, [](const Sizes& z) -> Shapes { return {{z.b, z.t}}; }},
    {Op::kLearnedPosition, [](const Sizes& z) -> Shapes { return {{z.b, z.t}, {z.t + z.s, z.n}}; }},
    {Op::kAdd, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.n}, {z.b, z.t, z.n}}; }},
    {Op::kLayerNorm, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.n}, {z.n}, {z.n}}; }},
    {Op::kLayerNorm, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.n}, {z.n}}; }},
    {Op::kProject, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.n}, {z.h, z.n, z.m}, {z.h, z.m}}; }},
    {Op::kProject, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.n}, {z.h, z.n, z.m}}; }},
    {Op::kSplitHeads, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.h * z.m}, {z.h, z.n, z.m}}; }},
    {Op::kScores, [](const Sizes& z) -> Shapes { return {{z.b, z.h, z.t, z.n}, {z.b, z.h, z.s, z.n}}; }},
    {Op::kAdditiveScores, [](const Sizes& z) -> Shapes { return {{z.b, z.h, z.t, z.n}, {z.b, z.h, z.s, z.n}, {z.h, z.n}}; }},
    {Op::kScale, [](const Sizes& z) -> Shapes { return {{z.b, z.h, z.t, z.s}}; }},
    {Op::kMask, [](const Sizes& z) -> Shapes { return {{z.b, z.h, z.t, z.s}, {z.b, z.t, z.s}}; }},
    {Op::kSoftmax, [](const Sizes& z) -> Shapes { return {{z.b, z.h, z.t, z.s}}; }},
    {Op::kSoftmax, [](const Sizes& z) -> Shapes { return {{z.b, z.h, z.t, z.s}}; }, 0.4},
    {Op::kSoftmax, [](const Sizes& z) -> Shapes { return {{z.b, z.h, z.t, z.s}}; }, 2.5},
    {Op::kWeightedSum, [](const Sizes& z) -> Shapes { return {{z.b, z.h, z.t, z.s}, {z.b, z.h, z.s, z.n}}; }},
    {Op::kConcatHeads, [](const Sizes& z) -> Shapes { return {{z.b, z.h, z.t, z.n}}; }},
    {Op::kLinear, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.n}, {z.n, z.m}, {z.m}}; }},
    {Op::kLinear, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.h * z.n}, {z.h, z.n, z.m}}; }},
    {Op::kRelu, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.n}}; }},
    {Op::kGelu, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.n}}; }},
    {Op::kGeluTanh, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.n}}; }},
    {Op::kMeanPool, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.n}, {z.b, z.t}}; }},
    {Op::kDropout, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.n}, {z.b, z.t, z.n}}; }},
    {Op::kCrossEntropy, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.n}, {z.b, z.t}}; }},
    {Op::kCrossEntropy, [](const Sizes& z) -> Shapes { return {{z.t, z.n}, {z.t}}; }},
};
// clang-format on

/// Memory for a program's tensors, with guard words around each.
class Guarded {
 public:
  explicit Guarded(const Program& program) {
    for (const TensorSpec& spec : program.tensors) {
      cells_.emplace_back(static_cast<std::size_t>(cell_count(spec.axes)) + 2 * kGuard, kWord);
      pointers_.push_back(cells_.back().data() + kGuard);
    }
  }
  std::span<float> operator[](TensorId id) {
    FloatBuffer& cells = cells_[static_cast<std::size_t>(id)];
    return {cells.data() + kGuard, cells.size() - 2 * kGuard};
  }
  std::span<float* const> pointers() const { return pointers_; }
  bool guards_hold() const {
    for (const FloatBuffer& tensor : cells_) {
      for (std::size_t i = 0; i < kGuard; ++i) {
        if (tensor[i] != kWord || tensor[tensor.size() - 1 - i] != kWord) return false;
      }
    }
    return true;
  }

 private:
  static constexpr std::size_t kGuard = 16;  // 64 bytes keep the tensor aligned
  static constexpr float kWord = 12345.678f;
  std::vector<FloatBuffer> cells_;
  std::vector<float*> pointers_;
};

// Numbers that a step of 1/16 leaves exact.
float exact(std::uint64_t key, std::size_t i) { return std::round(bell(key, i) * 1024) / 1024; }

/// A program of one call with its memory, its gradients, and dL/d(out).
class Single {
 public:
  Single(const GradCase& c, const Sizes& z) : Single(c.op, c.inputs(z), z.n, c.temperature) {}
  Single(Op op, const Shapes& inputs, std::int64_t width, double temperature)
      : program_(make(op, inputs, width, temperature)), memory(program_), gradients(program_) {
    for (std::size_t i = 0; i < inputs.size(); ++i) fill(static_cast<TensorId>(i));
    fill_choices();
    const auto d_out = gradients[out()];
    for (std::size_t i = 0; i < d_out.size(); ++i) d_out[i] = bell(99, i);
  }

  const OpCall& call() const { return program_.calls[0]; }
  const Program& program() const { return program_; }
  TensorId out() const { return call().out; }
  bool passes(std::size_t i) const { return static_cast<int>(i) != op_info(call().op).fixed_input; }

  void run(Backend& backend) { backend.run(program_, program_.calls, memory.pointers()); }
  void run_backward(Backend& backend, GradientUse use, std::size_t unwanted = 9) {
    BackwardCall step{0, {}};
    for (std::size_t i = 0; i < call().in.size(); ++i) {
      if (passes(i) && i != unwanted) step.uses[i] = use;
    }
    backend.run_backward(program_, {&step, 1}, memory.pointers(), gradients.pointers());
  }

  // dL/d(cell) by differences of the forward run, to the fourth order in the step.
  double difference(Backend& backend, float& cell) {
    constexpr float kStep = 1.0f / 16;
    const float before = cell;
    const auto at = [&](float steps) {
      cell = before + steps * kStep;
      run(backend);
      const auto cells = memory[out()];
      const auto d_out = gradients[out()];
      double sum = 0;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        if (std::isfinite(cells[i])) sum += static_cast<double>(cells[i]) * d_out[i];
      }
      return sum;
    };
    const double near = at(1) - at(-1), far = at(2) - at(-2);
    cell = before;
    return (8 * near - far) / (12 * static_cast<double>(kStep));
  }

 private:
  static Program make(Op op, const Shapes& inputs, std::int64_t width, double temperature) {
    Program program;
    OpCall call{op, {}, static_cast<TensorId>(inputs.size()), {}};
    call.params.features = width;
    call.params.factor = 0.375f;
    call.params.temperature = temperature;
    std::vector<TensorView> views;
    for (const auto& sizes : inputs) {
      std::vector<Axis> axes;
      for (const std::int64_t size : sizes) axes.push_back({"feature", size});
      call.in.push_back(static_cast<TensorId>(program.tensors.size()));
      program.tensors.push_back(
          {"in" + std::to_string(call.in.back()), axes, TensorKind::kParameter});
    }
    for (const TensorId id : call.in) views.push_back(program.look(id));
    program.tensors.push_back(
        {"out", op_info(op).shape(views, call.params), TensorKind::kActivation});
    program.calls.push_back(std::move(call));
    return program;
  }

  void fill(TensorId id) {
    const auto cells = memory[id];
    const auto width =
        static_cast<std::size_t>(program_.tensors[static_cast<std::size_t>(id)].axes.back().size);
    const Op op = call().op;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      cells[i] = exact(static_cast<std::uint64_t>(id) + 5, i);
      // Differences need smooth ground: away from the bend of ReLU, and no row of equal numbers.
      if (op == Op::kRelu) cells[i] += cells[i] < 0 ? -0.25f : 0.25f;
      if (op == Op::kLayerNorm && id == 0) {
        cells[i] = cells[i] / 8 + 0.875f * static_cast<float>(i % width % 5);
      }
    }
  }

  // Inputs that choose and forbid: ids, targets, masks, and scores that a mask has been over.
  void fill_choices() {
    const auto pick = [](std::size_t i, std::int64_t n) {
      return static_cast<float>(scatter(i) % static_cast<std::uint64_t>(n));
    };
    const Op op = call().op;
    const std::int64_t width = program_.tensors[0].axes.back().size;
    if (op == Op::kEmbed) {
      const auto ids = memory[0];
      for (std::size_t i = 0; i < ids.size(); ++i)
        ids[i] = pick(i, program_.tensors[1].axes[0].size);
    }
    if (op == Op::kMeanPool || op == Op::kDropout) {  // the first row of a batch has no token
      const auto factors = memory[1];
      const auto first = static_cast<std::size_t>(program_.tensors[1].axes.back().size);
      for (std::size_t i = 0; i < factors.size(); ++i) {
        const bool none = i < first || scatter(i) % 3 == 0;
        factors[i] = none ? 0.0f : op == Op::kDropout ? 1.25f : 1.0f;
      }
    }
    if (op == Op::kCrossEntropy) {
      const auto targets = memory[1];
      for (std::size_t i = 0; i < targets.size(); ++i)
        targets[i] = i % 3 == 2 ? -1 : pick(i, width);
    }
    if (op != Op::kSoftmax && op != Op::kMask) return;
    const auto cells = memory[op == Op::kMask ? 1 : 0];
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i) / width;
      const bool forbidden = row % 4 == 3 || scatter(i) % 3 == 0;  // a fourth of rows wholly
      if (forbidden) cells[i] = -kInf;
      if (op == Op::kMask && !forbidden) cells[i] = 0;
    }
  }

  Program program_;

 public:
  Guarded memory, gradients;
};

constexpr Sizes kSmall[] = {
    {1, 1, 1, 1, 1, 1}, {1, 2, 3, 5, 2, 7}, {2, 3, 5, 2, 7, 3},
    {2, 1, 1, 7, 5, 2}, {3, 1, 7, 3, 3, 5},
};

double largest(std::span<const float> cells) {
  double most = 0;
  for (const float cell : cells) most = std::max(most, std::fabs(double{cell}));
  return most;
}

// √(Σ (got − expected)² / Σ expected²); infinite where one is no number. A gradient below 0.03 a
// cell, where those that come in are about 1, is what is left of larger numbers.
double normalised_error(std::span<const float> got, std::span<const float> expected) {
  double error = 0, power = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double g = got[i], e = expected[i];
    if (!std::isfinite(g) || !std::isfinite(e)) return kInf;
    error += (g - e) * (g - e);
    power += std::max(e * e, 1e-3);
  }
  return std::sqrt(error / power);
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
  for (const GradCase& c : kTable) tested.insert(c.op);
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
  for (const GradCase& c : kTable) {
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
          if (s.memory[id][i] == -kInf) {
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
    for (const GradCase& c : kTable) {
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
      const double error = normalised_error(got.gradients[id], expected.gradients[id]);
      CHECK(error <= 2e-5);  // with narrow packets; rows of two numbers nearly cancel in a norm
      worst = std::max(worst, error);
    }
    CHECK(got.gradients.guards_hold());
  };
  for (const GradCase& c : kTable) {
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
      std::fill(scores.begin(), scores.end(), -kInf);
      scores[1] = 3.0f;
      d[static_cast<std::size_t>(n)] = kNan;
      d[static_cast<std::size_t>(n) + 1] = kInf;
      softmax.run(*backend);
      softmax.run_backward(*backend, GradientUse::kWritten);
      // The one key of the first row keeps its whole weight; the second row has no key.
      for (const float g : softmax.gradients[0]) CHECK(g == 0.0f);

      Single mask(Op::kMask, {{1, 1, 1, n}, {1, 1, n}}, n, 1);
      std::fill(mask.memory[1].begin(), mask.memory[1].end(), -kInf);
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
