// Every operation with the shapes of its inputs and how far a backend's result may be from the
// reference's, and memory with guard words to run it in.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/backend.h"
#include "core/random.h"

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

// b batch, h heads, t and s positions, n and m widths
struct Sizes {
  std::int64_t b, h, t, s, n, m;
};
using Shapes = std::vector<std::vector<std::int64_t>>;

/// One row of the table: the shapes of an operation's inputs, and how far the result may be off.
struct OpCase {
  Op op;
  double limit;  // of the normalised error
  Shapes (*inputs)(const Sizes&);
};

inline constexpr double kSameLimit = 0, kCellLimit = 1e-12, kProductLimit = 1e-10, kRowLimit = 1e-9;

// clang-format off
inline const OpCase kForwardTable[] = {
    {Op::kEmbed, kSameLimit, [](const Sizes& z) -> Shapes { return {{z.b, z.t}, {z.m, z.n}}; }},
    {Op::kSinusoid, kCellLimit, [](const Sizes& z) -> Shapes { return {{z.b, z.t}}; }},
    {Op::kLearnedPosition, kSameLimit, [](const Sizes& z) -> Shapes { return {{z.b, z.t}, {z.t + z.s, z.n}}; }},
    {Op::kAdd, kSameLimit, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.n}, {z.b, z.t, z.n}}; }},
    {Op::kLayerNorm, kRowLimit, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.n}, {z.n}, {z.n}}; }},
    {Op::kLayerNorm, kRowLimit, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.n}, {z.n}}; }},
    {Op::kProject, kProductLimit, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.n}, {z.h, z.n, z.m}, {z.h, z.m}}; }},
    {Op::kProject, kProductLimit, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.n}, {z.h, z.n, z.m}}; }},
    {Op::kSplitHeads, kSameLimit, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.h * z.m}, {z.h, z.n, z.m}}; }},
    {Op::kScores, kProductLimit, [](const Sizes& z) -> Shapes { return {{z.b, z.h, z.t, z.n}, {z.b, z.h, z.s, z.n}}; }},
    {Op::kAdditiveScores, kProductLimit, [](const Sizes& z) -> Shapes { return {{z.b, z.h, z.t, z.n}, {z.b, z.h, z.s, z.n}, {z.h, z.n}}; }},
    {Op::kScale, kSameLimit, [](const Sizes& z) -> Shapes { return {{z.b, z.h, z.t, z.s}}; }},
    {Op::kMask, kSameLimit, [](const Sizes& z) -> Shapes { return {{z.b, z.h, z.t, z.s}, {z.b, z.t, z.s}}; }},
    {Op::kSoftmax, kRowLimit, [](const Sizes& z) -> Shapes { return {{z.b, z.h, z.t, z.s}}; }},
    {Op::kWeightedSum, kProductLimit, [](const Sizes& z) -> Shapes { return {{z.b, z.h, z.t, z.s}, {z.b, z.h, z.s, z.n}}; }},
    {Op::kConcatHeads, kSameLimit, [](const Sizes& z) -> Shapes { return {{z.b, z.h, z.t, z.n}}; }},
    {Op::kLinear, kProductLimit, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.n}, {z.n, z.m}, {z.m}}; }},
    {Op::kLinear, kProductLimit, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.h * z.n}, {z.h, z.n, z.m}}; }},
    {Op::kRelu, kSameLimit, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.n}}; }},
    {Op::kGelu, kCellLimit, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.n}}; }},
    {Op::kGeluTanh, kCellLimit, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.n}}; }},
    {Op::kMeanPool, kRowLimit, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.n}, {z.b, z.t}}; }},
    {Op::kDropout, kSameLimit, [](const Sizes& z) -> Shapes { return {{z.b, z.h, z.t, z.s}, {z.b, z.h, z.t, z.s}}; }},
    {Op::kCrossEntropy, kRowLimit, [](const Sizes& z) -> Shapes { return {{z.b, z.t, z.n}, {z.b, z.t}}; }},
    {Op::kCrossEntropy, kRowLimit, [](const Sizes& z) -> Shapes { return {{z.t, z.n}, {z.t}}; }},
};
// clang-format on

// A program of one call.
inline Program single_call(Op op, const Shapes& inputs, std::int64_t width,
                           double temperature = 1) {
  Program program;
  std::vector<TensorView> views;
  OpCall call{op, {}, static_cast<TensorId>(inputs.size()), {}};
  call.params.features = width;
  call.params.factor = 0.37f;
  call.params.temperature = temperature;
  for (const auto& sizes : inputs) {
    std::vector<Axis> axes;
    for (const std::int64_t size : sizes) axes.push_back({"feature", size});
    call.in.push_back(static_cast<TensorId>(program.tensors.size()));
    program.tensors.push_back(
        {"in" + std::to_string(call.in.back()), axes, TensorKind::kInput, -1});
  }
  for (const TensorId id : call.in) views.push_back(program.look(id));
  program.tensors.push_back(
      {"out", op_info(op).shape(views, call.params), TensorKind::kActivation, -1});
  program.calls.push_back(std::move(call));
  return program;
}

// What an operation's inputs may hold, apart from ordinary numbers.
inline void fill_inputs(const Program& program, Memory& memory, std::uint64_t key, float spread) {
  const OpCall& call = program.calls[0];
  for (const TensorId id : call.in) {
    fill(memory.cells(id), key + static_cast<std::uint64_t>(id), spread);
  }
  if (call.op == Op::kEmbed) {
    const auto vocab = static_cast<std::uint64_t>(program.tensors[1].axes[0].size);
    const auto ids = memory.cells(0);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ids[i] = static_cast<float>(scatter(key + i) % vocab);
    }
  }
  if (call.op == Op::kMeanPool || call.op == Op::kDropout) {  // 0 for padding and what is left out
    for (float& cell : memory.cells(1))
      cell = scatter(key++) % 3 == 0 ? 0.0f : call.op == Op::kDropout ? 1.25f : 1.0f;
  }
  if (call.op == Op::kCrossEntropy) {  // every fourth target or so is not counted
    const auto vocab = static_cast<std::uint64_t>(program.tensors[0].axes.back().size);
    const auto targets = memory.cells(1);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const std::uint64_t bits = scatter(key + i);
      targets[i] = bits >> 62 == 0 ? -1.0f : static_cast<float>(bits % vocab);
    }
  }
  const std::int64_t keys = program.tensors[0].axes.back().size;
  const bool scores = call.op == Op::kSoftmax, mask = call.op == Op::kMask;
  if (!scores && !mask) return;
  const auto cells = memory.cells(mask ? 1 : 0);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i) / keys;
    const bool forbidden = row % 4 == 3 || scatter(key ^ i) % 3 == 0;  // a fourth of rows wholly
    if (mask) cells[i] = forbidden ? -kInfinity : 0.0f;
    if (scores && forbidden) cells[i] = -kInfinity;
  }
}

}  // namespace headlight
