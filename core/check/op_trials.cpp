#include "core/check/op_trials.h"

#include <cmath>
#include <limits>

#include "core/base/random.h"

namespace headlight {
namespace {

std::span<float> cells_of(const Program& program, std::span<float* const> memory, TensorId id) {
  const auto at = static_cast<std::size_t>(id);
  return {memory[at], static_cast<std::size_t>(cell_count(program.tensors[at].axes))};
}

}  // namespace

std::span<const OpTrial> op_trials() {
  static const std::vector<OpTrial> kTrials = [] {
    std::vector<OpTrial> trials;
    for (const OpInfo& info : all_ops()) {
      for (const std::string_view shapes : info.trials)
        trials.push_back(
            {info.op, [shapes](const TrialSizes& z) { return trial_shapes(shapes, z); }});
    }
    return trials;
  }();
  return kTrials;
}

double trial_limit(Op op) {
  switch (op_info(op).errors) {
    case ErrorClass::kCells:
      return 1e-12;
    case ErrorClass::kProducts:
      return 1e-10;
    case ErrorClass::kRows:
      break;
  }
  return 1e-9;
}

Program trial_program(Op op, const TrialShapes& inputs, std::int64_t width, double temperature) {
  Program program;
  std::vector<TensorView> views;
  OpCall call{op, {}, static_cast<TensorId>(inputs.size()), {}};
  call.params.features = width;
  call.params.factor = op_info(op).curve ? 1.5f : 0.375f;  // a curve that bends gently
  call.params.temperature = temperature;
  call.params.turned = width / 2 * 2;
  call.params.interleaved = width / 2 % 2 == 1;
  call.params.base = 5000;
  if (width % 4 == 0) call.params.stretch = {RotaryScaling::kLlama3, 8, 1, 4, 50};
  call.params.offset = width % 3;
  call.params.reach = width / 2;
  call.params.causal = width / 2 % 2 == 0;
  call.params.best = 1 + width / 2 % 2;
  call.params.reversed = width % 2 == 1;
  call.params.dilation = 1 + width % 2;
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
  const auto last_axis = [&](TensorId id) { return program.tensors[place(id)].axes.back().size; };
  const auto below = [](std::uint64_t bits, std::int64_t count) {
    return static_cast<float>(bits % static_cast<std::uint64_t>(count));
  };
  for (const TensorId id : call.in) {
    const auto cells = cells_of(program, memory, id);
    const std::uint64_t stream = key + static_cast<std::uint64_t>(id);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::uint64_t bits = scatter(key + i);
      const auto row = static_cast<std::int64_t>(i) / last_axis(id);
      const bool forbidden = row % 4 == 3 || scatter(key ^ i) % 3 == 0;
      float& cell = cells[i] = spread * bell(stream, i);
      switch (op_info(call.op).inputs[place(id)]) {
        case InputKind::kNumbers:
        case InputKind::kHeadBias:
        case InputKind::kSizes:
          break;
        case InputKind::kShares:
          cell = 0.25f + std::fabs(cell);
          break;
        case InputKind::kScores:
          if (forbidden) cell = kForbidden;
          break;
        case InputKind::kMask:
          cell = forbidden ? kForbidden : 0.0f;
          break;
        case InputKind::kIds:
          cell = below(bits, program.tensors[1].axes[0].size);
          break;
        case InputKind::kTargets:  // every fourth or so is not counted
          cell = bits >> 62 == 0 ? -1.0f : below(bits, last_axis(0));
          break;
        case InputKind::kPresence:
          cell = bits % 3 == 0 ? 0.0f : 1.0f;
          break;
        case InputKind::kDropout:
          cell = bits % 3 == 0 ? 0.0f : 1.25f;
      }
    }
  }
}

}  // namespace headlight
