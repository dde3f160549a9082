// Mixtures of experts on the processor: the products of all experts, the gate's best, the mixture,
// the load. Every cell is computed whole by one piece, and its sums run in a fixed order.
#pragma once

#include "core/backends/cpu/backward_calls.h"

namespace headlight::cpu {

/// The call must be of one of these operations.
void run_experts(Pieces&, const Call&);
void run_experts_backward(Pieces&, const GradientCall&);

}  // namespace headlight::cpu
