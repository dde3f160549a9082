#include "core/base/cell_range.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace headlight {
namespace {

constexpr std::size_t kFewCells = 1 << 14;

// The magnitude that one cell in a thousand exceeds, of an even sample of the cells.
float high_quantile(std::span<const float> cells) {
  const std::size_t step = std::max<std::size_t>(1, cells.size() / 65521);
  std::vector<float> sample;
  sample.reserve(cells.size() / step + 1);
  for (std::size_t i = 0; i < cells.size(); i += step) {
    const float size = std::fabs(cells[i]);
    if (std::isfinite(size)) sample.push_back(size);
  }
  if (sample.empty()) return 0;
  const auto at =
      sample.begin() + static_cast<std::ptrdiff_t>(sample.size() - 1 - sample.size() / 1000);
  std::nth_element(sample.begin(), at, sample.end());
  return *at;
}

}  // namespace

CellRange measure_range(std::span<const float> cells) {
  CellRange range;
  float largest = 0, second = 0;
  bool any = false;
  for (const float cell : cells) {
    if (!std::isfinite(cell)) {
      ++(std::isnan(cell) ? range.broken : cell < 0 ? range.forbidden : range.overflowed);
      continue;
    }
    range.lowest = any ? std::min(range.lowest, cell) : cell;
    range.highest = any ? std::max(range.highest, cell) : cell;
    any = true;
    const float size = std::fabs(cell);
    if (!(size > second)) continue;
    second = std::min(size, largest);
    largest = std::max(size, largest);
  }
  if (largest == 0) return range;
  range.limit = largest;
  if (cells.size() < kLeastRobust) return range;
  const float rest = cells.size() > kFewCells ? high_quantile(cells) : second;
  if (rest > 0 && largest > 4 * rest) range.limit = rest;
  return range;
}

CellRange join(const CellRange& a, const CellRange& b) {
  const auto all_zero = [](const CellRange& r) { return r.lowest == 0 && r.highest == 0; };
  CellRange both;
  // The limit of nothing but zeros says nothing.
  both.limit = all_zero(a) ? b.limit : all_zero(b) ? a.limit : std::max(a.limit, b.limit);
  both.lowest = std::min(a.lowest, b.lowest);
  both.highest = std::max(a.highest, b.highest);
  both.forbidden = a.forbidden + b.forbidden;
  both.broken = a.broken + b.broken;
  both.overflowed = a.overflowed + b.overflowed;
  return both;
}

float robust_limit(std::span<const float> cells) { return measure_range(cells).limit; }

}  // namespace headlight
