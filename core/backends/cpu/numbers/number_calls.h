// Numbers as tokens on the processor: what a token stands for, and how likely each number of the
// grid is. Every cell is computed whole by one piece, and its sums run in a fixed order.
#pragma once

#include "core/backends/cpu/backward_calls.h"

namespace headlight::cpu {

/// The call must be of one of these operations.
void run_numbers(Pieces&, const Call&);
void run_numbers_backward(Pieces&, const GradientCall&);

}  // namespace headlight::cpu
