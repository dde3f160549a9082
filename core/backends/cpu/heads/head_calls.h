// What attention does to whole heads, on the processor: one more key, heads switched off, their
// mean. Every cell is computed whole by one piece.
#pragma once

#include "core/backends/cpu/backward_calls.h"

namespace headlight::cpu {

/// The call must be of one of these operations.
void run_heads(Pieces&, const Call&);
void run_heads_backward(Pieces&, const GradientCall&);

}  // namespace headlight::cpu
