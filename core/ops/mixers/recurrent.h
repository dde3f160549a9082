// What the recurrent operations share: the order in which the rows of a text are read, and how a
// small change of one number goes on from state to state.
#pragma once

#include <string>
#include <vector>

#include "core/ops/op.h"

namespace headlight::recurrent {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Inputs of a recurrent operation: 0 a (batch, position, gates · state), 1 U (state, gates ·
/// state), 2 present (batch, position), 3 c (gates · state). The result is (batch, position,
/// state).
struct Sizes {
  std::int64_t batch = 0, positions = 0, states = 0;
};
Sizes sizes_of(std::span<const TensorView> in);

/// The shape rule, for `gates` numbers of `a` to each number of the state.
std::vector<Axis> shape(std::string_view op, std::span<const TensorView> in, std::int64_t gates,
                        std::string_view expected);

/// The row that is read at this step, and the one before it: −1 before the first.
inline std::int64_t row_of_step(std::int64_t step, std::int64_t positions, bool reversed) {
  return reversed ? positions - 1 - step : step;
}
inline std::int64_t row_before(std::int64_t row, std::int64_t positions, bool reversed) {
  const std::int64_t before = reversed ? row + 1 : row - 1;
  return before < positions ? before : -1;
}

/// One step of a recurrent operation in the run that `in` and `out` hold: batch item, row, the row
/// before it (−1: none), and where the numbers of both lie.
struct StepOfRun {
  std::span<const TensorView> in;
  TensorView out;
  Sizes sizes;
  std::int64_t item = 0, row = 0, before = -1;

  bool is_token() const { return in[2].data[item * sizes.positions + row] != 0; }
  const float* a(std::int64_t gates) const {
    return in[0].data + (item * sizes.positions + row) * gates * sizes.states;
  }
  const float* state() const { return out.data + (item * sizes.positions + row) * sizes.states; }
  /// Number k of the state before; 0 before the first.
  double past(std::int64_t k) const {
    if (before < 0) return 0;
    return out.data[(item * sizes.positions + before) * sizes.states + k];
  }
  std::vector<std::int64_t> past_cell(std::int64_t k) const { return {item, before, k}; }
};
StepOfRun step_of_run(std::span<const TensorView> in, const TensorView& out, bool reversed,
                      std::int64_t item, std::int64_t row);

/// The cell of a padded row, which keeps the state before it.
OpExplanation kept_state(const StepOfRun&, std::int64_t k, std::string formula);

/// How the numbers of one state grow with some number: from how those of the state before grow
/// (zeros before the first), and by how much the number acts in this very step.
using Tangent = std::vector<double>;
using StepTangent = Tangent (*)(const StepOfRun&, const Tangent& before, int input,
                                std::span<const std::int64_t> index);

/// The terms of the gradient of one number: every number of every state that it reaches, however
/// many steps later, times how much that one grows with it.
OpExplanation through_time(const OpGradArgs&, int input, std::span<const std::int64_t> index,
                           StepTangent, std::string formula);

/// Panes of a recurrent operation: for each gate, by its letter, a's, U's and c's part.
std::vector<Pane> panes(const OpArgs&, std::span<const std::string_view> gates);

/// The loop over the steps as code: `update` is what becomes of `state` at row t.
std::string loop_code(const CodeArgs&, const std::string& update, bool torch);

}  // namespace headlight::recurrent
