// Nudge: one cell moved a little up and a little down, and the loss run again each time. The slope
// between the two losses is what the backward pass says the cell's gradient is.
#pragma once

#include <cstdint>
#include <span>

#include "core/backends/backend.h"
#include "core/run/trace.h"

namespace headlight {

struct Nudge {
  double value = 0, step = 0;  // the cell, and how far it was moved either way, as float32 holds it
  double loss = 0;             // the mean loss of the run itself
  double loss_up = 0, loss_down = 0;  // with the cell at value + step, and at value − step

  /// The central difference, which is off by the order of step².
  double slope() const { return (loss_up - loss_down) / (2 * step); }
  /// About how far the rounding of float32 alone may have moved the slope: a loss, and the logits
  /// that it comes from, keep 24 bits, and what is lost there is divided by the step.
  double rounding_error() const;
};

/// Moves the cell of `tensor` at `index` (batch axis included, within its axes): a parameter, or an
/// activation by any of its names. What was computed from it runs again, in memory of its own:
/// `memory` (by TensorId, as a run without a fusion left it) is only read. Throws UsageError for a
/// program without a loss, for an input (ids, masks), for a cell that is no finite number, and for
/// a step that does not move it.
Nudge nudge(const Program&, std::span<float* const> memory, TensorId tensor,
            std::span<const std::int64_t> index, double step, Backend&);
/// The same on a trace of a training program.
Nudge nudge(const Trace&, TensorId tensor, std::span<const std::int64_t> index, double step,
            Backend&);

/// A step for which nudge() agrees with `gradient` as far as float32 lets it. `tensor` is the
/// cell's, of the run whose mean loss is `loss`. A power of two.
double nudge_step(const TensorView& tensor, std::span<const std::int64_t> index, double gradient,
                  double loss);

}  // namespace headlight
