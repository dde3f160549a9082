// How far apart two lists of numbers are.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace headlight {

inline double rms(std::span<const float> cells) {
  double sum = 0;
  for (const float cell : cells) sum += static_cast<double>(cell) * cell;
  return cells.empty() ? 0 : std::sqrt(sum / static_cast<double>(cells.size()));
}

/// Root mean square of the difference over that of `expected`, or over `least` where that is more.
inline double normalised_error(std::span<const float> got, std::span<const float> expected,
                               double least) {
  double error = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!std::isfinite(got[i]) || !std::isfinite(expected[i]))
      return std::numeric_limits<float>::infinity();
    error += (static_cast<double>(got[i]) - expected[i]) * (got[i] - expected[i]);
  }
  error = std::sqrt(error / static_cast<double>(std::max<std::size_t>(1, got.size())));
  return error / std::max(rms(expected), least);
}

}  // namespace headlight
