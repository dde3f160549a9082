// Numbers as tokens: an even grid from −1 to 1, and what a density asks for at its numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace headlight {

/// The number that token `id` of `count` stands for.
inline double grid_value(std::int64_t id, std::int64_t count) {
  return -1 +
         2 * static_cast<double>(id) / static_cast<double>(std::max<std::int64_t>(count - 1, 1));
}

/// Half of what lies between two neighbours: nothing finer can be told on this grid.
inline double half_grid_step(std::int64_t count) {
  return 1 / static_cast<double>(std::max<std::int64_t>(count - 1, 1));
}

/// A mean so far from the grid is felt no further, so that squares stay finite.
inline constexpr double kFarthestMean = 100;
/// A component is never wholly out of the question: the logarithm of its weight stays finite.
inline constexpr double kLowestWeight = 1e-30;
inline constexpr double kLowestLogSpread = -20, kHighestLogSpread = 3;

/// The spread of a component on a grid of `count` numbers: half of the grid's step, and exp(s). So
/// it is never below what the grid can tell, and never without a slope.
inline double spread_of(double log_spread, std::int64_t count) {
  return half_grid_step(count) +
         std::exp(std::clamp(log_spread, kLowestLogSpread, kHighestLogSpread));
}

}  // namespace headlight
