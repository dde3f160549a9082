// Which calls a walk backwards makes, and which gradients are one memory: what can be said of a
// walk without making room for it.
#pragma once

#include <span>
#include <vector>

#include "core/backends/backend.h"

namespace headlight {

struct BackwardPlan {
  /// The calls of the walk, in its order: the last of the program first.
  std::vector<BackwardCall> calls;
  /// By TensorId: whose memory its gradient lies in. Aliases share that of their source; a summand
  /// that nothing else reads has the sum's.
  std::vector<TensorId> owners;
};

/// Of a walk from `seeds`, whose own gradients are given.
BackwardPlan plan_backward(const Program&, std::span<const TensorId> seeds);

}  // namespace headlight
