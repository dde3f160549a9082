// How far two lists of numbers are apart, for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace headlight {

/// Largest difference over the largest finite magnitude; infinite where one side is not finite and
/// the other is not the same.
inline double largest_error(std::span<const float> ours, std::span<const float> theirs) {
  double error = 0, magnitude = 0;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    if (std::isfinite(theirs[i])) magnitude = std::max(magnitude, std::fabs(double{theirs[i]}));
  }
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    if (ours[i] == theirs[i]) continue;  // the same infinity included
    if (!std::isfinite(ours[i]) || !std::isfinite(theirs[i]))
      return std::numeric_limits<double>::infinity();
    error = std::max(error, std::fabs(double{ours[i]} - theirs[i]));
  }
  return magnitude > 0 ? error / magnitude : error;
}

}  // namespace headlight
