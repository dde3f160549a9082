#include "core/base/half.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__)
#define HEADLIGHT_F16C
#include <immintrin.h>
#endif

namespace headlight {
namespace {

constexpr std::uint32_t kInfinityBits = 0x7F800000u;

// One by one, as bits of their own: memory of floats may hold them.
template <class Convert>
void pack_each(std::span<const float> from, std::byte* to, Convert convert) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::uint16_t bits = convert(from[i]);
    std::memcpy(to + 2 * i, &bits, sizeof bits);
  }
}

template <class Convert>
void unpack_each(const std::byte* from, std::span<float> to, Convert convert) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, from + 2 * i, sizeof bits);
    to[i] = convert(bits);
  }
}

#ifdef HEADLIGHT_F16C
// Clang 14 has no word for F16C; every processor with AVX2 has it.
bool has_f16c() {
  static const bool known = __builtin_cpu_supports("avx2");
  return known;
}

// Eights; returns how many were written.
__attribute__((target("avx,f16c"))) std::size_t pack_eights(std::span<const float> from,
                                                            std::byte* to) {
  std::size_t i = 0;
  for (; i + 8 <= from.size(); i += 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(&from[i]), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 2 * i), halves);
  }
  return i;
}

__attribute__((target("avx,f16c"))) std::size_t unpack_eights(const std::byte* from,
                                                              std::span<float> to) {
  std::size_t i = 0;
  for (; i + 8 <= to.size(); i += 8) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 2 * i));
    _mm256_storeu_ps(&to[i], _mm256_cvtph_ps(halves));
  }
  return i;
}
#endif

}  // namespace

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
  const std::uint32_t all = std::bit_cast<std::uint32_t>(value), bits = all & 0x7FFFFFFFu;
  const auto sign = static_cast<std::uint16_t>(all >> 16 & 0x8000u);
  if (bits > kInfinityBits) return sign | 0x7E00u;
  if (bits >= 0x47800000u) return sign | 0x7C00u;  // 2^16
  if (bits < 0x38800000u) {  // below 2^-14 in steps of 2^-24, those of floats from 1/2 to 1
    const float steps = std::bit_cast<float>(bits) + 0.5f;
    return sign | static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(steps) & 0x7FFu);
  }
  // Half a step less one more where the step below is odd, then the exponent's other zero.
  const std::uint32_t rounded = bits + 0xFFFu + (bits >> 13 & 1u);
  return sign | static_cast<std::uint16_t>((rounded >> 13) - (112u << 10));
}

float bfloat_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t float_to_bfloat(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = bits + 0x7FFFu + (bits >> 16 & 1u);
  const bool nan = (bits & 0x7FFFFFFFu) > kInfinityBits;
  return static_cast<std::uint16_t>((nan ? bits | 0x400000u : rounded) >> 16);
}

void pack(NumberFormat format, std::span<const float> from, void* memory) {
  auto* to = static_cast<std::byte*>(memory);
  if (format == NumberFormat::kBfloat16) return pack_each(from, to, float_to_bfloat);
  std::size_t done = 0;
#ifdef HEADLIGHT_F16C
  if (has_f16c()) done = pack_eights(from, to);
#endif
  pack_each(from.subspan(done), to + 2 * done, float_to_half);
}

void unpack(NumberFormat format, const void* memory, std::span<float> to) {
  const auto* from = static_cast<const std::byte*>(memory);
  if (format == NumberFormat::kBfloat16) return unpack_each(from, to, bfloat_to_float);
  std::size_t done = 0;
#ifdef HEADLIGHT_F16C
  if (has_f16c()) done = unpack_eights(from, to);
#endif
  unpack_each(from + 2 * done, to.subspan(done), half_to_float);
}

void round_to(NumberFormat format, std::span<const float> from, float* to) {
  if (format == NumberFormat::kFloat32) {
    std::copy(from.begin(), from.end(), to);
    return;
  }
  std::array<std::uint16_t, 1024> bits;
  for (std::size_t i = 0; i < from.size(); i += bits.size()) {
    const auto part = from.subspan(i, std::min(bits.size(), from.size() - i));
    pack(format, part, bits.data());
    unpack(format, bits.data(), {to + i, part.size()});
  }
}

}  // namespace headlight
