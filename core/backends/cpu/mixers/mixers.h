// What stands in attention's place, on the processor: recurrent layers, one step after the other
// for all texts of a batch at once, and convolutions as products, one for each place of the window.
#pragma once

#include "core/backends/cpu/backward_calls.h"
#include "core/backends/cpu/pieces.h"

namespace headlight::cpu {

/// A call of a recurrent operation or of a convolution. `buffer` grows to what it asks for.
void run_mixer(Pieces&, const Call&, FloatBuffer& buffer);
/// Its gradients, all but a convolution's bias.
void run_mixer_backward(Pieces&, const GradientCall&, FloatBuffer& buffer);

/// The sizes of a recurrent call, and the rows that its steps read.
struct RecurrentSizes {
  std::int64_t batch, positions, n, gates, row;  // row: gates · n, the width of a's rows
  bool reversed;

  explicit RecurrentSizes(const Call& c)
      : batch(c.out_axes[0].size),
        positions(c.out_axes[1].size),
        n(c.out_axes[2].size),
        gates(c.call.op == Op::kGru ? 3 : 1),
        row(gates * n),
        reversed(c.call.params.reversed) {}
  std::int64_t row_of_step(std::int64_t step) const {
    return reversed ? positions - 1 - step : step;
  }
  /// −1 before the first step.
  std::int64_t row_before(std::int64_t t) const {
    const std::int64_t before = reversed ? t + 1 : t - 1;
    return before < positions ? before : -1;
  }
};

/// Texts that one piece takes through all steps.
inline constexpr std::int64_t kTextsOfPiece = 16;

/// A convolution's place `tap`: the rows of the result whose window has it within the text, and the
/// row that the first of them reads.
struct TapRows {
  std::int64_t first = 0, count = 0, read = 0;
};
TapRows tap_rows(const Call&, std::int64_t tap);

float* grown(FloatBuffer&, std::int64_t cells);

}  // namespace headlight::cpu
