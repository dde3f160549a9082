#include "core/view/color_vision.h"

#include <algorithm>
#include <cmath>

namespace headlight {
namespace {

float to_linear(float v) {
  return v <= 0.04045f ? v / 12.92f : std::pow((v + 0.055f) / 1.055f, 2.4f);
}

float from_linear(float v) {
  v = std::clamp(v, 0.0f, 1.0f);
  return v <= 0.0031308f ? v * 12.92f : 1.055f * std::pow(v, 1 / 2.4f) - 0.055f;
}

struct Lab {
  float l, a, b;
};

// CIE 1976 L*a*b* of an sRGB colour, white point D65.
Lab lab_of(Color c) {
  const float r = to_linear(c.r), g = to_linear(c.g), b = to_linear(c.b);
  const auto f = [](float t) {
    return t > 216.0f / 24389 ? std::cbrt(t) : (24389.0f / 27 * t + 16) / 116;
  };
  const float x = f((0.4124f * r + 0.3576f * g + 0.1805f * b) / 0.9505f);
  const float y = f(0.2126f * r + 0.7152f * g + 0.0722f * b);
  const float z = f((0.0193f * r + 0.1192f * g + 0.9505f * b) / 1.0890f);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

}  // namespace

const ColorMatrix& vision_matrix(Vision vision) {
  static constexpr std::array<ColorMatrix, kVisionCount> kMatrices = {{
      {1, 0, 0, 0, 1, 0, 0, 0, 1},
      {0.152286f, 1.052583f, -0.204868f, 0.114503f, 0.786281f, 0.099216f, -0.003882f, -0.048116f,
       1.051998f},
      {0.367322f, 0.860646f, -0.227968f, 0.280085f, 0.672501f, 0.047413f, -0.011820f, 0.042940f,
       0.968881f},
      {1.255528f, -0.076749f, -0.178779f, -0.078411f, 0.930809f, 0.147602f, 0.004733f, 0.691367f,
       0.303900f},
      {0.2126f, 0.7152f, 0.0722f, 0.2126f, 0.7152f, 0.0722f, 0.2126f, 0.7152f, 0.0722f},
  }};
  return kMatrices[static_cast<std::size_t>(vision)];
}

Color seen_with(Vision vision, Color c) {
  if (vision == Vision::kFull) return c;
  const ColorMatrix& m = vision_matrix(vision);
  const float r = to_linear(c.r), g = to_linear(c.g), b = to_linear(c.b);
  const auto row = [&](std::size_t i) {
    return from_linear(m[3 * i] * r + m[3 * i + 1] * g + m[3 * i + 2] * b);
  };
  return {row(0), row(1), row(2), c.a};
}

float color_difference(Color a, Color b) {
  const Lab p = lab_of(a), q = lab_of(b);
  return std::hypot(p.l - q.l, p.a - q.a, p.b - q.b);
}

float lightness(Color c) { return lab_of(c).l; }

}  // namespace headlight
