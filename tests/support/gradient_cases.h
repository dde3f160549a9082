// The gradient of every operation: shapes, and a program of one call with its memory, its
// gradients, and dL/d(out).
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/backends/backend.h"
#include "core/base/random.h"
#include "tests/support/forward_cases.h"

namespace headlight {

/// One row of the table: the shapes of an operation's inputs, and what it is asked for.
struct GradCase {
  Op op;
  std::function<Shapes(const Sizes&)> inputs;
  double temperature = 1;
};

inline const std::vector<GradCase> kGradientTable = [] {
  std::vector<GradCase> table;
  for (const OpTrial& trial : op_trials()) {
    table.push_back({trial.op, trial.inputs});
    if (trial.op != Op::kSoftmax && trial.op != Op::kFusedAttention) continue;
    for (const double temperature : {0.4, 2.5})
      table.push_back({trial.op, trial.inputs, temperature});
  }
  return table;
}();

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
inline float exact(std::uint64_t key, std::size_t i) {
  return std::round(bell(key, i) * 1024) / 1024;
}

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
  bool passes(std::size_t i) const { return !op_info(call().op).is_fixed(i); }

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
    Program program = trial_program(op, inputs, width, temperature);
    for (const TensorId id : program.calls[0].in)
      program.tensors[place(id)].kind = TensorKind::kParameter;
    return program;
  }

  void fill(TensorId id) {
    const auto cells = memory[id];
    const auto width =
        static_cast<std::size_t>(program_.tensors[static_cast<std::size_t>(id)].axes.back().size);
    const Op op = call().op;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      cells[i] = exact(static_cast<std::uint64_t>(id) + 5, i);
      // Differences need smooth ground: away from the bend of ReLU, no row of equal
      // numbers, and for a norm that keeps the mean no row about 0.
      if (op == Op::kRelu) cells[i] += cells[i] < 0 ? -0.25f : 0.25f;
      if (op == Op::kRmsNorm && id == 0) cells[i] += cells[i] < 0 ? -0.75f : 0.75f;
      if (op == Op::kMixtureLogits && id == 2) cells[i] /= 4;  // no bell as narrow as the step
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
    const std::int64_t width = program_.tensors[0].axes.back().size;
    for (const TensorId id : call().in) {
      const auto cells = memory[id];
      const auto row = static_cast<std::size_t>(program_.tensors[place(id)].axes.back().size);
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const bool none = i < row || scatter(i) % 3 == 0;  // the first row of a batch has no token
        const bool forbidden = i / row % 4 == 3 || scatter(i) % 3 == 0;  // a fourth of rows wholly
        const InputKind kind = op_info(call().op).inputs[place(id)];
        if (kind == InputKind::kIds) cells[i] = pick(i, program_.tensors[1].axes[0].size);
        if (kind == InputKind::kPresence) cells[i] = none ? 0.0f : 1.0f;
        if (kind == InputKind::kDropout) cells[i] = none ? 0.0f : 1.25f;
        if (kind == InputKind::kTargets) cells[i] = i % 3 == 2 ? -1 : pick(i, width);
        // Far enough apart that a small change leaves the best ones the best.
        if (kind == InputKind::kShares)
          cells[i] = 0.5f + 0.4f * static_cast<float>((i + i / row) % row);
        // Away from 0, where logarithms bend.
        if (kind == InputKind::kShares && call().op == Op::kMixtureLogits) cells[i] *= 4;
        if (kind == InputKind::kScores && forbidden) cells[i] = -kInfinity;
        if (kind == InputKind::kMask) cells[i] = forbidden ? -kInfinity : 0.0f;
      }
    }
  }

  Program program_;

 public:
  Guarded memory, gradients;
};

// √(Σ (got − expected)² / Σ expected²); infinite where one is no number. A gradient below 0.03 a
// cell, where those that come in are about 1, is what is left of larger numbers.
inline double gradient_error(std::span<const float> got, std::span<const float> expected) {
  double error = 0, power = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double g = got[i], e = expected[i];
    if (!std::isfinite(g) || !std::isfinite(e)) return kInfinity;
    error += (g - e) * (g - e);
    power += std::max(e * e, 1e-3);
  }
  return std::sqrt(error / power);
}

}  // namespace headlight
