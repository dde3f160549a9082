#include "core/view/heatmap.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

namespace headlight {

Color mix(Color a, Color b, float t) {
  return {a.r + (b.r - a.r) * t, a.g + (b.g - a.g) * t, a.b + (b.b - a.b) * t,
          a.a + (b.a - a.a) * t};
}

float luminance(Color c) {
  const auto linear = [](float v) {
    return v <= 0.04045f ? v / 12.92f : std::pow((v + 0.055f) / 1.055f, 2.4f);
  };
  return 0.2126f * linear(c.r) + 0.7152f * linear(c.g) + 0.0722f * linear(c.b);
}

float contrast(Color a, Color b) {
  const float la = luminance(a), lb = luminance(b);
  return (std::max(la, lb) + 0.05f) / (std::min(la, lb) + 0.05f);
}

Color color_at(const ColorScale& scale, float value) {
  if (std::isinf(value) && value < 0) return scale.center;
  if (!std::isfinite(value)) return scale.invalid;
  const float t = std::clamp(value / scale.limit, -1.0f, 1.0f);
  if (scale.map == ColorMap::kSequential) {
    return mix(scale.center, scale.high, std::pow(std::max(t, 0.0f), 0.75f));
  }
  return t < 0 ? mix(scale.center, scale.low, -t) : mix(scale.center, scale.high, t);
}

namespace {

constexpr std::uint32_t kMinusInfinity = 0xff800000u;
constexpr std::uint32_t kFirstBroken = 0xff000000u;  // of keys: +∞; NaN is above

// A number as an integer that grows with its magnitude: the bits turned left, so that the sign
// comes last. −∞ is the smallest: it stands for a cell that is not there.
std::uint32_t key_of(std::uint32_t bits) {
  return bits == kMinusInfinity ? 0 : (bits << 1 | bits >> 31);
}

float number_of(std::uint32_t key) {
  if (key >= kFirstBroken) return std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<float>(key >> 1 | key << 31);
}

// Every neighbour of a NaN block becomes NaN.
void spread_broken(std::vector<BlockCell>& blocks, std::int64_t rows, std::int64_t columns) {
  std::vector<std::int64_t> broken;
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    if (std::isnan(blocks[static_cast<std::size_t>(i)].value)) broken.push_back(i);
  }
  for (const std::int64_t i : broken) {
    const std::int64_t r = i / columns, c = i % columns;
    for (std::int64_t y = std::max<std::int64_t>(r - 1, 0); y <= std::min(r + 1, rows - 1); ++y) {
      for (std::int64_t x = std::max<std::int64_t>(c - 1, 0); x <= std::min(c + 1, columns - 1);
           ++x) {
        blocks[static_cast<std::size_t>(y * columns + x)].value = number_of(kFirstBroken);
      }
    }
  }
}

}  // namespace

std::vector<BlockCell> strongest_blocks(const HeatmapQuad& quad, std::int64_t row_step,
                                        std::int64_t column_step) {
  const std::int64_t rows = (quad.rows + row_step - 1) / row_step;
  const std::int64_t columns = (quad.columns + column_step - 1) / column_step;
  std::vector<BlockCell> blocks(static_cast<std::size_t>(rows * columns));
  const auto n = static_cast<std::size_t>(quad.columns);
  std::vector<std::uint32_t> keys(n), forbidden(n);
  bool any_broken = false;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t begin = r * row_step, end = std::min(begin + row_step, quad.rows);
    std::fill(keys.begin(), keys.end(), 0u);
    std::fill(forbidden.begin(), forbidden.end(), 0u);
    for (std::int64_t y = begin; y < end; ++y) {
      const float* line = quad.data + y * quad.row_stride;
      const auto gather = [&](auto stride) {  // a constant stride of 1 becomes vector code
        for (std::size_t x = 0; x < n; ++x) {
          const auto bits =
              std::bit_cast<std::uint32_t>(line[static_cast<std::int64_t>(x) * stride]);
          keys[x] = std::max(keys[x], key_of(bits));
          forbidden[x] += bits == kMinusInfinity;
        }
      };
      if (quad.column_stride == 1) {
        gather(std::integral_constant<std::int64_t, 1>{});
      } else {
        gather(quad.column_stride);
      }
    }
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t first = c * column_step,
                         last = std::min(first + column_step, quad.columns);
      std::uint32_t key = 0, count = 0;
      for (std::int64_t x = first; x < last; ++x) {
        key = std::max(key, keys[static_cast<std::size_t>(x)]);
        count += forbidden[static_cast<std::size_t>(x)];
      }
      any_broken |= key >= kFirstBroken;
      blocks[static_cast<std::size_t>(r * columns + c)] = {
          number_of(key),
          static_cast<float>(count) / static_cast<float>((end - begin) * (last - first))};
    }
  }
  if (any_broken) spread_broken(blocks, rows, columns);
  return blocks;
}

}  // namespace headlight
