// Every operation as a program of one call on made-up numbers: what a backend is tried on, by the
// tests and by a graphics card's self-test.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "core/graph/program.h"

namespace headlight {

/// An operation with the shapes of its inputs.
struct OpTrial {
  Op op{};
  std::function<TrialShapes(const TrialSizes&)> inputs;
};

/// OpInfo::trials of every operation.
std::span<const OpTrial> op_trials();

/// How far one call's result, or a gradient of it, may be from the reference backend's, as
/// CellDifference::error: what its ErrorClass allows.
double trial_limit(Op);

/// A program of one call: inputs 0, 1, …, then the result. `width` is of a row that the inputs do
/// not tell (OpParams::features), and says what turns and in which pairs.
Program trial_program(Op, const TrialShapes& inputs, std::int64_t width, double temperature = 1);

/// The inputs of such a program: bell-shaped numbers times `spread`, the same for the same key;
/// ids, targets and masks as the operation wants them. Every fourth row of scores or of a mask is
/// forbidden wholly.
void fill_trial(const Program&, std::span<float* const> memory, std::uint64_t key, float spread);

}  // namespace headlight
