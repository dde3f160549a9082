// Numbers in 16 bits. IEEE 754 half precision ("float16"): one sign, 5 bits of exponent, 10 of
// fraction; "bfloat16": a float's first 16 bits, 8 of exponent and 7 of fraction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace headlight {

/// How numbers are kept that others compute with as floats.
enum class NumberFormat { kFloat32, kFloat16, kBfloat16 };

/// Exact: every half is a float.
float half_to_float(std::uint16_t half);

/// The nearest half, of two equally near the even one. From 65520 on infinity; NaN stays NaN.
std::uint16_t float_to_half(float value);

/// The same of bfloat16; it overflows only where it rounds up to 2¹²⁸.
float bfloat_to_float(std::uint16_t bits);
std::uint16_t float_to_bfloat(float value);

/// Writes each number in 16 bits from `to` on, and back again: of kFloat16 or kBfloat16. Many at a
/// time where the processor can (F16C), with the same numbers.
void pack(NumberFormat, std::span<const float> from, void* to);
void unpack(NumberFormat, const void* from, std::span<float> to);

/// Each number as it would come back: to[i] is from[i] rounded to the format. kFloat32: a copy.
void round_to(NumberFormat, std::span<const float> from, float* to);

/// The largest relative error of rounding, of numbers that are not too small for it: half a unit of
/// the last place.
constexpr double rounding_unit(NumberFormat format) {
  return format == NumberFormat::kFloat32   ? 0x1p-24
         : format == NumberFormat::kFloat16 ? 0x1p-11
                                            : 0x1p-8;
}

}  // namespace headlight
