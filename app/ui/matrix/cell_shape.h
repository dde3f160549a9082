// How far from a square the cells of a picture may be.
#pragma once

#include <algorithm>
#include <cstdint>

namespace headlight {

/// How many times as long as its shorter side a cell of so many rows and columns may be. Queries
/// against keys of the same text are squares; a long text against a short one would be a sliver.
inline float longest_cell(std::int64_t rows, std::int64_t columns) {
  const auto more = static_cast<float>(std::max({rows, columns, std::int64_t{1}}));
  const auto fewer = static_cast<float>(std::max(std::min(rows, columns), std::int64_t{1}));
  return std::clamp(more / fewer / 2, 1.0f, 3.0f);
}

}  // namespace headlight
