// Every operation with the shapes of its inputs and how far a backend's result may be from the
// reference's, and memory with guard words to run it in.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/backends/backend.h"
#include "core/base/random.h"
#include "core/check/op_trials.h"

namespace headlight {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr std::size_t kGuard = 16;  // words on each side; 64 bytes keep the tensor aligned
inline constexpr float kGuardWord = 12345.678f;

/// Memory for a program, with guard words around every tensor.
class Memory {
 public:
  explicit Memory(const Program& program) : program_(program), cells_(program.tensors.size()) {
    for (std::size_t id = 0; id < cells_.size(); ++id) {
      const TensorSpec& spec = program.tensors[id];
      if (spec.kind == TensorKind::kAlias) continue;
      cells_[id].resize(static_cast<std::size_t>(cell_count(spec.axes)) + 2 * kGuard, kGuardWord);
      for (std::size_t i = 0; i + 2 * kGuard < cells_[id].size(); ++i) {
        cells_[id][kGuard + i] = spec.kind == TensorKind::kActivation ? -777.0f : 0.0f;
      }
    }
    for (std::size_t id = 0; id < cells_.size(); ++id) {
      const auto source = static_cast<std::size_t>(program.resolve(static_cast<TensorId>(id)));
      pointers_.push_back(cells_[source].data() + kGuard);
    }
  }

  std::span<float> cells(TensorId id) {
    const auto source = static_cast<std::size_t>(program_.resolve(id));
    return {cells_[source].data() + kGuard, cells_[source].size() - 2 * kGuard};
  }
  std::span<float* const> pointers() const { return pointers_; }
  void run(Backend& backend) { backend.run(program_, program_.calls, pointers_); }
  bool guards_hold() const {
    for (const FloatBuffer& tensor : cells_) {
      for (std::size_t i = 0; i < std::min(kGuard, tensor.size()); ++i) {
        if (tensor[i] != kGuardWord || tensor[tensor.size() - 1 - i] != kGuardWord) return false;
      }
    }
    return true;
  }

 private:
  const Program& program_;
  std::vector<FloatBuffer> cells_;
  std::vector<float*> pointers_;
};

inline void fill(std::span<float> cells, std::uint64_t key, float spread) {
  for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = spread * bell(key, i);
}

inline void copy_inputs(const Program& program, Memory& from, Memory& to) {
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    if (program.tensors[id].kind == TensorKind::kActivation) continue;
    const auto cells = from.cells(static_cast<TensorId>(id));
    std::copy(cells.begin(), cells.end(), to.cells(static_cast<TensorId>(id)).begin());
  }
}

// Σ (got − expected)² / Σ expected², over the finite cells; infinite where the two do not agree on
// which cells are infinite or NaN.
inline double normalised_error(std::span<const float> got, std::span<const float> expected) {
  double error = 0, power = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double g = got[i], e = expected[i];
    if (!std::isfinite(e)) {
      if (std::isnan(e) ? !std::isnan(g) : g != e) return kInfinity;
      continue;
    }
    if (!std::isfinite(g)) return kInfinity;
    error += (g - e) * (g - e);
    power += e * e;
  }
  return power == 0 ? error : error / power;
}

// ---- operations ----

using Sizes = TrialSizes;
using Shapes = TrialShapes;

/// One row of the table: the shapes of an operation's inputs, and how far the result of a backend
/// on the processor may be off.
struct OpCase {
  Op op;
  double limit;  // of the normalised error
  std::function<Shapes(const Sizes&)> inputs;
};

// Many operations do on the processor what the reference does, to the last bit.
inline double processor_limit(Op op) {
  for (const Op close : {Op::kSinusoid, Op::kGelu, Op::kGeluTanh, Op::kSilu, Op::kTanh, Op::kRotary,
                         Op::kDistanceSinusoid}) {
    if (op == close) return 1e-12;
  }
  return trial_limit(op) <= 1e-12 ? 0 : trial_limit(op);
}

inline const std::vector<OpCase> kForwardTable = [] {
  std::vector<OpCase> table;
  for (const OpTrial& trial : op_trials())
    table.push_back({trial.op, processor_limit(trial.op), trial.inputs});
  return table;
}();

// A program of one call.
inline Program single_call(Op op, const Shapes& inputs, std::int64_t width,
                           double temperature = 1) {
  return trial_program(op, inputs, width, temperature);
}

// What an operation's inputs may hold, apart from ordinary numbers.
inline void fill_inputs(const Program& program, Memory& memory, std::uint64_t key, float spread) {
  fill_trial(program, memory.pointers(), key, spread);
}

}  // namespace headlight
