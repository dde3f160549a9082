#include "core/heatmap.h"

#include <algorithm>
#include <cmath>

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

float robust_limit(std::span<const float> cells) {
  float largest = 0, second = 0;
  for (const float cell : cells) {
    const float size = std::fabs(cell);
    if (!std::isfinite(size)) continue;
    if (size > largest) {
      second = largest;
      largest = size;
    } else if (size > second) {
      second = size;
    }
  }
  if (largest == 0) return 1;
  return second > 0 && largest > 4 * second ? second : largest;
}

}  // namespace headlight
