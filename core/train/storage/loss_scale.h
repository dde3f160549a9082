// The loss scale of training in float16 (Micikevicius et al. 2018): gradients are those of the loss
// times this, and divided by it before they change a weight. It adapts itself: where one is not
// finite it halves, and the step changes nothing; after many good steps it doubles.
#pragma once

#include <algorithm>
#include <cstdint>

namespace headlight {

struct LossScale {
  static constexpr std::int64_t kGrowsAfter = 2000;          // good steps
  static constexpr double kFirst = 65536, kMost = 16777216;  // 2¹⁶, 2²⁴
  double scale = kFirst;  // a power of two, at least 1: dividing by it rounds nothing
  std::int64_t good = 0;  // steps since it changed
  bool operator==(const LossScale&) const = default;

  bool can_fall() const { return scale > 1; }
  /// After a step whose gradients were all finite, or not.
  void meet(bool finite) {
    if (!finite) {
      *this = {std::max(scale / 2, 1.0), 0};
    } else if (++good >= kGrowsAfter) {
      *this = {std::min(2 * scale, kMost), 0};
    }
  }
};

}  // namespace headlight
