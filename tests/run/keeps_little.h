// Runs of which only what must stay stays in memory.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/base/tensor.h"
#include "core/run/runner.h"

namespace headlight {

inline RunLimits keeps_little() {
  RunLimits limits;
  limits.keep_all_to = 0;
  return limits;
}

inline bool same_bits(const TensorView& a, const TensorView& b) {
  return std::ranges::equal(a.cells(), b.cells(), [](float x, float y) {
    return x == y || (std::isnan(x) && std::isnan(y));
  });
}

}  // namespace headlight
