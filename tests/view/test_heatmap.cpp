// Ranges, and blocks of cells that stand for many.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/view/heatmap.h"

namespace headlight::test_heatmap {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

HeatmapQuad quad_of(const std::vector<float>& cells, std::int64_t rows, std::int64_t columns) {
  HeatmapQuad quad;
  quad.data = cells.data();
  quad.rows = rows;
  quad.columns = columns;
  quad.row_stride = columns;
  return quad;
}

}  // namespace

TEST_CASE("heatmap: a range knows its ends, what it clips and what is no number") {
  const CellRange r =
      measure_range(std::vector<float>{1, -3, 2, kNan, -kInfinity, kInfinity, 2.5f});
  CHECK(r.limit == 3);
  CHECK(r.lowest == -3);
  CHECK(r.highest == 2.5f);
  CHECK(r.broken == 1);
  CHECK(r.forbidden == 1);
  CHECK(r.overflowed == 1);
  CHECK_FALSE(r.clips_high());
  const auto among = [](float outlier, std::size_t count) {
    std::vector<float> cells(count, 1);
    cells[0] = outlier;
    cells[1] = -std::copysign(2.0f, outlier);
    return measure_range(cells);
  };
  const CellRange few = among(100, kLeastRobust - 1);  // of so few none is an outlier
  CHECK(few.limit == 100);
  CHECK_FALSE(few.clips_high());
  const CellRange high = among(100, kLeastRobust);
  CHECK(high.limit == 2);
  CHECK(high.clips_high());
  CHECK_FALSE(high.clips_low());
  const CellRange low = among(-100, kLeastRobust);
  CHECK(low.clips_low());
  CHECK_FALSE(low.clips_high());
  const CellRange both = join(high, low);
  CHECK(both.limit == 2);  // an outlier stays one
  CHECK(both.clips_low());
  CHECK(both.clips_high());
  CHECK(
      join(measure_range(std::vector<float>{0, 0}), measure_range(std::vector<float>{0.25f, 0.2f}))
          .limit == 0.25f);
}

TEST_CASE("heatmap: the strongest number stands for its block") {
  std::vector<float> cells(5 * 7);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = static_cast<float>((i * 37) % 23) - 11.5f;
  }
  cells[0] = cells[1] = cells[7] = cells[8] = -kInfinity;
  cells[2] = -kInfinity;
  for (const bool turned : {false, true}) {
    HeatmapQuad quad = quad_of(cells, 5, 7);
    if (turned) {
      std::swap(quad.rows, quad.columns);
      std::swap(quad.row_stride, quad.column_stride);
    }
    for (const std::int64_t rs : {1, 2, 3, 8}) {
      for (const std::int64_t cs : {1, 2, 4}) {
        const std::vector<BlockCell> blocks = strongest_blocks(quad, rs, cs);
        const std::int64_t columns = (quad.columns + cs - 1) / cs;
        REQUIRE(blocks.size() == static_cast<std::size_t>((quad.rows + rs - 1) / rs * columns));
        for (std::int64_t b = 0; b < static_cast<std::int64_t>(blocks.size()); ++b) {
          float strongest = 0;
          int forbidden = 0, count = 0;
          for (std::int64_t r = b / columns * rs; r < std::min(b / columns * rs + rs, quad.rows);
               ++r) {
            for (std::int64_t c = b % columns * cs;
                 c < std::min(b % columns * cs + cs, quad.columns); ++c) {
              const float v = quad.data[r * quad.row_stride + c * quad.column_stride];
              ++count;
              if (std::isinf(v)) {
                ++forbidden;
              } else if (std::fabs(v) > std::fabs(strongest)) {
                strongest = v;
              }
            }
          }
          const BlockCell& block = blocks[static_cast<std::size_t>(b)];
          CHECK(std::fabs(block.value) == std::fabs(strongest));
          CHECK(block.forbidden ==
                doctest::Approx(static_cast<float>(forbidden) / static_cast<float>(count)));
        }
      }
    }
  }
}

TEST_CASE("heatmap: one broken number marks its block and those beside it") {
  for (const float bad : {kNan, -kNan, kInfinity}) {
    std::vector<float> cells(64, 1.0f);
    cells[3 * 8 + 3] = bad;
    const std::vector<BlockCell> blocks = strongest_blocks(quad_of(cells, 8, 8), 2, 2);
    for (std::size_t i = 0; i < 16; ++i) {
      const bool beside = i / 4 <= 2 && i % 4 <= 2;
      CHECK(std::isnan(blocks[i].value) == beside);
    }
  }
}

}  // namespace headlight::test_heatmap
