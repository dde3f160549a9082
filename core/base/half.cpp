#include "core/base/half.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace headlight {

float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1F;
  const std::uint32_t fraction = half & 0x3FF;
  if (exponent == 0) {  // zero and subnormal: fraction · 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

std::uint16_t float_to_half(float value) {
  const auto sign = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16 & 0x8000u);
  if (std::isnan(value)) return sign | 0x7E00u;
  const float magnitude = std::fabs(value);
  if (magnitude >= 65520.0f) return sign | 0x7C00u;
  // Steps between halves are 2^-24 below 2^-14 and double with each power of two from there on.
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int least = std::max(exponent - 11, -24);
  // A count of steps below 4096: whole numbers that a float holds, so the rounding is exact.
  const float steps = std::nearbyint(std::ldexp(magnitude, -least));
  const float rounded = std::ldexp(steps, least);
  if (rounded < 0x1p-14f) return sign | static_cast<std::uint16_t>(rounded * 0x1p24f);
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(rounded);
  return sign | static_cast<std::uint16_t>(((bits >> 23) - 112) << 10 | (bits >> 13 & 0x3FF));
}

}  // namespace headlight
