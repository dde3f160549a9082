#include "core/check/op_trials.h"

#include <limits>

#include "core/base/random.h"

namespace headlight {
namespace {

using Z = const TrialSizes&;
using Shapes = TrialShapes;

// clang-format off
constexpr OpTrial kTrials[] = {
    {Op::kEmbed, [](Z z) -> Shapes { return {{z.b, z.t}, {z.m, z.n}}; }},
    {Op::kSinusoid, [](Z z) -> Shapes { return {{z.b, z.t}}; }},
    {Op::kLearnedPosition, [](Z z) -> Shapes { return {{z.b, z.t}, {z.t + z.s, z.n}}; }},
    {Op::kAdd, [](Z z) -> Shapes { return {{z.b, z.t, z.n}, {z.b, z.t, z.n}}; }},
    {Op::kLayerNorm, [](Z z) -> Shapes { return {{z.b, z.t, z.n}, {z.n}, {z.n}}; }},
    {Op::kLayerNorm, [](Z z) -> Shapes { return {{z.b, z.t, z.n}, {z.n}}; }},
    {Op::kProject, [](Z z) -> Shapes { return {{z.b, z.t, z.n}, {z.h, z.n, z.m}, {z.h, z.m}}; }},
    {Op::kProject, [](Z z) -> Shapes { return {{z.b, z.t, z.n}, {z.h, z.n, z.m}}; }},
    {Op::kSplitHeads, [](Z z) -> Shapes { return {{z.b, z.t, z.h * z.m}, {z.h, z.n, z.m}}; }},
    {Op::kScores, [](Z z) -> Shapes { return {{z.b, z.h, z.t, z.n}, {z.b, z.h, z.s, z.n}}; }},
    {Op::kAdditiveScores, [](Z z) -> Shapes { return {{z.b, z.h, z.t, z.n}, {z.b, z.h, z.s, z.n}, {z.h, z.n}}; }},
    {Op::kScale, [](Z z) -> Shapes { return {{z.b, z.h, z.t, z.s}}; }},
    {Op::kMask, [](Z z) -> Shapes { return {{z.b, z.h, z.t, z.s}, {z.b, z.t, z.s}}; }},
    {Op::kSoftmax, [](Z z) -> Shapes { return {{z.b, z.h, z.t, z.s}}; }},
    {Op::kWeightedSum, [](Z z) -> Shapes { return {{z.b, z.h, z.t, z.s}, {z.b, z.h, z.s, z.n}}; }},
    {Op::kConcatHeads, [](Z z) -> Shapes { return {{z.b, z.h, z.t, z.n}}; }},
    {Op::kLinear, [](Z z) -> Shapes { return {{z.b, z.t, z.n}, {z.n, z.m}, {z.m}}; }},
    {Op::kLinear, [](Z z) -> Shapes { return {{z.b, z.t, z.h * z.n}, {z.h, z.n, z.m}}; }},
    {Op::kRelu, [](Z z) -> Shapes { return {{z.b, z.t, z.n}}; }},
    {Op::kGelu, [](Z z) -> Shapes { return {{z.b, z.t, z.n}}; }},
    {Op::kGeluTanh, [](Z z) -> Shapes { return {{z.b, z.t, z.n}}; }},
    {Op::kMeanPool, [](Z z) -> Shapes { return {{z.b, z.t, z.n}, {z.b, z.t}}; }},
    {Op::kDropout, [](Z z) -> Shapes { return {{z.b, z.h, z.t, z.s}, {z.b, z.h, z.t, z.s}}; }},
    {Op::kCrossEntropy, [](Z z) -> Shapes { return {{z.b, z.t, z.n}, {z.b, z.t}}; }},
    {Op::kCrossEntropy, [](Z z) -> Shapes { return {{z.t, z.n}, {z.t}}; }},
    {Op::kRmsNorm, [](Z z) -> Shapes { return {{z.b, z.t, z.n}, {z.n}}; }},
    {Op::kMultiply, [](Z z) -> Shapes { return {{z.b, z.t, z.n}, {z.b, z.t, z.n}}; }},
    {Op::kRotary, [](Z z) -> Shapes { return {{z.b, z.h, z.t, 2 * z.n}}; }},
    {Op::kSilu, [](Z z) -> Shapes { return {{z.b, z.t, z.n}}; }},
    // Heads of keys and values that two heads of queries share.
    {Op::kScores, [](Z z) -> Shapes { return {{z.b, 2 * z.h, z.t, z.n}, {z.b, z.h, z.s, z.n}}; }},
    {Op::kAdditiveScores, [](Z z) -> Shapes { return {{z.b, 2 * z.h, z.t, z.n}, {z.b, z.h, z.s, z.n}, {2 * z.h, z.n}}; }},
    {Op::kWeightedSum, [](Z z) -> Shapes { return {{z.b, 2 * z.h, z.t, z.s}, {z.b, z.h, z.s, z.n}}; }},
};
// clang-format on

std::span<float> cells_of(const Program& program, std::span<float* const> memory, TensorId id) {
  const auto at = static_cast<std::size_t>(id);
  return {memory[at], static_cast<std::size_t>(cell_count(program.tensors[at].axes))};
}

}  // namespace

std::span<const OpTrial> op_trials() { return kTrials; }

double trial_limit(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kScale:
    case Op::kMask:
    case Op::kRelu:
    case Op::kDropout:
    case Op::kEmbed:
    case Op::kSinusoid:
    case Op::kLearnedPosition:
    case Op::kSplitHeads:
    case Op::kConcatHeads:
    case Op::kMultiply:
    case Op::kRotary:
      return 1e-12;
    case Op::kLinear:
    case Op::kProject:
    case Op::kScores:
    case Op::kAdditiveScores:
    case Op::kWeightedSum:
      return 1e-10;
    default:
      return 1e-9;
  }
}

Program trial_program(Op op, const TrialShapes& inputs, std::int64_t width, double temperature) {
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

void fill_trial(const Program& program, std::span<float* const> memory, std::uint64_t key,
                float spread) {
  constexpr float kForbidden = -std::numeric_limits<float>::infinity();
  const OpCall& call = program.calls[0];
  for (const TensorId id : call.in) {
    const auto cells = cells_of(program, memory, id);
    const std::uint64_t stream = key + static_cast<std::uint64_t>(id);
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] = spread * bell(stream, i);
  }
  if (call.op == Op::kEmbed) {
    const auto vocab = static_cast<std::uint64_t>(program.tensors[1].axes[0].size);
    const auto ids = cells_of(program, memory, 0);
    for (std::size_t i = 0; i < ids.size(); ++i)
      ids[i] = static_cast<float>(scatter(key + i) % vocab);
  }
  if (call.op == Op::kMeanPool || call.op == Op::kDropout) {  // 0 for padding and what is left out
    for (float& cell : cells_of(program, memory, 1))
      cell = scatter(key++) % 3 == 0 ? 0.0f : call.op == Op::kDropout ? 1.25f : 1.0f;
  }
  if (call.op == Op::kCrossEntropy) {  // every fourth target or so is not counted
    const auto vocab = static_cast<std::uint64_t>(program.tensors[0].axes.back().size);
    const auto targets = cells_of(program, memory, 1);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const std::uint64_t bits = scatter(key + i);
      targets[i] = bits >> 62 == 0 ? -1.0f : static_cast<float>(bits % vocab);
    }
  }
  const bool scores = call.op == Op::kSoftmax, mask = call.op == Op::kMask;
  if (!scores && !mask) return;
  const std::int64_t keys = program.tensors[0].axes.back().size;
  const auto cells = cells_of(program, memory, mask ? 1 : 0);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i) / keys;
    const bool forbidden = row % 4 == 3 || scatter(key ^ i) % 3 == 0;
    if (mask) cells[i] = forbidden ? kForbidden : 0.0f;
    if (scores && forbidden) cells[i] = kForbidden;
  }
}

}  // namespace headlight
