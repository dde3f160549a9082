// IEEE 754 half precision ("float16"): one sign, 5 bits of exponent, 10 of fraction.
#pragma once

#include <cstdint>

namespace headlight {

/// Exact: every half is a float.
float half_to_float(std::uint16_t half);

/// The nearest half, of two equally near the even one. From 65520 on infinity; NaN stays NaN.
std::uint16_t float_to_half(float value);

}  // namespace headlight
