#include "core/heatmap.h"

#include <algorithm>
#include <cmath>
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

float robust_limit(std::span<const float> cells) {
  float largest = 0, second = 0;
  for (const float cell : cells) {
    const float size = std::fabs(cell);
    if (!(size > second) || !std::isfinite(size)) continue;
    second = std::min(size, largest);
    largest = std::max(size, largest);
  }
  if (largest == 0) return 1;
  const float rest = cells.size() > kFewCells ? high_quantile(cells) : second;
  return rest > 0 && largest > 4 * rest ? rest : largest;
}

}  // namespace headlight
