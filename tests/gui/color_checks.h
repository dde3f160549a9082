// Colours as other eyes see them, and how far two of them look apart.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/view/color_vision.h"
#include "core/view/heatmap.h"

namespace headlight {

inline float to_linear(float v) {
  return v <= 0.04045f ? v / 12.92f : std::pow((v + 0.055f) / 1.055f, 2.4f);
}

inline float from_linear(float v) {
  v = std::clamp(v, 0.0f, 1.0f);
  return v <= 0.0031308f ? v * 12.92f : 1.055f * std::pow(v, 1 / 2.4f) - 0.055f;
}

struct LabColor {
  float l, a, b;
};

// CIE 1976 L*a*b* of an sRGB colour, white point D65.
inline LabColor lab_of(Color c) {
  const float r = to_linear(c.r), g = to_linear(c.g), b = to_linear(c.b);
  const auto f = [](float t) {
    return t > 216.0f / 24389 ? std::cbrt(t) : (24389.0f / 27 * t + 16) / 116;
  };
  const float x = f((0.4124f * r + 0.3576f * g + 0.1805f * b) / 0.9505f);
  const float y = f(0.2126f * r + 0.7152f * g + 0.0722f * b);
  const float z = f((0.0193f * r + 0.1192f * g + 0.9505f * b) / 1.0890f);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

/// An sRGB colour as these eyes see it; the opacity stays.
inline Color seen_with(Vision vision, Color c) {
  if (vision == Vision::kFull) return c;
  const ColorMatrix& m = vision_matrix(vision);
  const float r = to_linear(c.r), g = to_linear(c.g), b = to_linear(c.b);
  const auto row = [&](std::size_t i) {
    return from_linear(m[3 * i] * r + m[3 * i + 1] * g + m[3 * i + 2] * b);
  };
  return {row(0), row(1), row(2), c.a};
}

/// How far two colours look apart: the distance in CIE L*a*b* (D65). 2 can just be told apart side
/// by side, 100 is black against white.
inline float color_difference(Color a, Color b) {
  const LabColor p = lab_of(a), q = lab_of(b);
  return std::hypot(p.l - q.l, p.a - q.a, p.b - q.b);
}

/// CIE lightness, 0..100.
inline float lightness(Color c) { return lab_of(c).l; }

}  // namespace headlight
