// What a set of numbers spans, and the range that colours a picture of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace headlight {

/// What a set of numbers spans, and the range that colours it.
struct CellRange {
  float limit = 1;                // robust_limit()
  float lowest = 0, highest = 0;  // of the finite ones; 0 when there are none
  std::int64_t forbidden = 0;     // −∞
  std::int64_t broken = 0;        // NaN
  std::int64_t overflowed = 0;    // +∞
  bool names = false;             // ids, which are neither large nor small; below 0: none

  /// Are there numbers beyond the range, that have the colour of its end?
  bool clips_high() const { return highest > limit; }
  bool clips_low() const { return lowest < -limit; }
  bool operator==(const CellRange&) const = default;
};
CellRange measure_range(std::span<const float> cells);
/// One range for both: the wider limit, so that an outlier of either stays an outlier.
CellRange join(const CellRange&, const CellRange&);

/// The range that colours a picture: the largest finite magnitude, unless it stands over 4 times as
/// far out as the rest; then the rest counts (of few cells the second largest, of many the
/// magnitude that one cell in a thousand exceeds). Under kLeastRobust cells none is an outlier: the
/// largest always counts. 1 when nothing is finite or all is zero.
float robust_limit(std::span<const float> cells);
inline constexpr std::size_t kLeastRobust = 32;

}  // namespace headlight
