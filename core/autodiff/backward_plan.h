// Which calls a backward pass makes, and which gradients are one memory: what can be said of a
// backward pass without making room for it.
#pragma once

#include <span>
#include <vector>

#include "core/backends/backend.h"

namespace headlight {

struct BackwardPlan {
  /// The calls of the backward pass, in its order: the last of the program first.
  std::vector<BackwardCall> calls;
  /// By TensorId: whose memory its gradient lies in. Aliases share that of their source; a summand
  /// that nothing else reads has the sum's.
  std::vector<TensorId> owners;
};

/// Of a backward pass from `seeds`, whose own gradients are given.
BackwardPlan plan_backward(const Program&, std::span<const TensorId> seeds);

}  // namespace headlight
