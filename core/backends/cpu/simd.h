// Vectors of floats as wide as the machine the code is built for, through Eigen's packets: loads of
// a row's ragged end, and the functions that the operations need. Everything here is inline; only
// kernels_*.cpp and the benchmarks should include it.
#pragma once

// GCC 12 takes the deliberately undefined registers inside its own intrinsics for mistakes.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace headlight::simd {

namespace packet = Eigen::internal;
using Packet = packet::packet_traits<float>::type;
using packet::padd, packet::pmadd, packet::pmul, packet::psub;

// GCC's own vector types carry attributes, and it warns of each template that is not told of them.
#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wignored-attributes"
#endif
inline constexpr int kWidth = packet::unpacket_traits<Packet>::size;
/// As many packets as a packet has numbers: what packet::ptranspose() turns.
using Square = packet::PacketBlock<Packet, kWidth>;
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

inline Packet all(float x) { return packet::pset1<Packet>(x); }

// ---- full packets, and the last few numbers of a row ----

/// A packet with all its numbers inside the row.
struct Full {};
/// The first `count` numbers of a packet, 0 < count < kWidth; the rest lies outside the row.
struct Part {
  int count;
};

inline Packet load(const float* p, Full, float = 0.0f) { return packet::ploadu<Packet>(p); }

/// Numbers outside the row read as `fill`.
inline Packet load(const float* p, Part part, float fill = 0.0f) {
#ifdef EIGEN_VECTORIZE_AVX512
  const auto mask = static_cast<__mmask16>((1u << part.count) - 1u);
  return _mm512_mask_loadu_ps(all(fill), mask, p);
#else
  alignas(64) float cells[kWidth];
  for (int i = 0; i < kWidth; ++i) cells[i] = i < part.count ? p[i] : fill;
  return packet::pload<Packet>(cells);
#endif
}

inline void store(float* p, Packet x, Full) { packet::pstoreu(p, x); }

inline void store(float* p, Packet x, Part part) {
#ifdef EIGEN_VECTORIZE_AVX512
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << part.count) - 1u), x);
#else
  alignas(64) float cells[kWidth];
  packet::pstore(cells, x);
  for (int i = 0; i < part.count; ++i) p[i] = cells[i];
#endif
}

inline Packet only(Packet x, Full) { return x; }

/// x with 0 outside the row.
inline Packet only(Packet x, Part part) {
  alignas(64) float cells[kWidth];
  packet::pstore(cells, x);
  return load(cells, part);
}

/// Calls f(i, Full{}) for each whole packet of a row of n numbers, then f(i, Part{...}) for the
/// rest.
template <class F>
inline void for_packets(std::int64_t n, F&& f) {
  std::int64_t i = 0;
  for (; i + kWidth <= n; i += kWidth) f(i, Full{});
  if (i < n) f(i, Part{static_cast<int>(n - i)});
}

// ---- rows ----

/// Cells that a packet of floats sums before it is added to a double.
inline constexpr std::int64_t kStretch = 64 * kWidth;

/// Σ term(i, extent) over a row. `term` gives a packet with 0 outside the row.
template <class F>
inline double sum_row(std::int64_t n, F&& term) {
  double total = 0;
  for (std::int64_t begin = 0; begin < n; begin += kStretch) {
    Packet sum = all(0.0f);
    for_packets(std::min(kStretch, n - begin), [&](std::int64_t i, auto extent) {
      sum = packet::padd(sum, term(begin + i, extent));
    });
    total += static_cast<double>(packet::predux(sum));
  }
  return total;
}

/// The largest number of a row; -∞ for a row of -∞. Where there is a NaN, it may be anything.
inline float row_maximum(const float* x, std::int64_t n) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  Packet largest = all(kLowest);
  for_packets(n, [&](std::int64_t i, auto extent) {
    largest = packet::pmax(largest, load(x + i, extent, kLowest));
  });
  return packet::predux_max(largest);
}

/// x - y, and in `low` what the rounding of it lost (Knuth's two-sum).
inline Packet exact_difference(Packet x, Packet y, Packet& low) {
  using packet::psub;
  const Packet d = psub(x, y);
  const Packet back = psub(d, x);
  low = psub(psub(x, psub(d, back)), packet::padd(y, back));
  return d;
}

/// A number as a sum of two floats, in every place of a packet.
struct TwoFloats {
  explicit TwoFloats(double x)
      : high(all(static_cast<float>(x))),
        low(all(static_cast<float>(x - static_cast<double>(static_cast<float>(x))))) {}
  Packet high, low;
};

inline Packet centre(Packet x, const TwoFloats& mean) {
  return packet::psub(packet::psub(x, mean.high), mean.low);
}

// ---- functions ----

/// y · 2^n for whole n in [-126, 127].
template <class P>
inline P times_two_to(P y, P n) {
#ifdef EIGEN_VECTORIZE_AVX512
  return _mm512_scalef_ps(y, n);
#else
  using Integers = typename packet::unpacket_traits<P>::integer_packet;
  const Integers biased = packet::pcast<P, Integers>(packet::padd(n, all(127.0f)));
  return packet::pmul(y, packet::preinterpret<P>(packet::plogical_shift_left<23>(biased)));
#endif
}

/// y, but 0 where x is less than `least`.
inline Packet zero_below(Packet x, float least, Packet y) {
#ifdef EIGEN_VECTORIZE_AVX512
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, all(least), _CMP_NLT_UQ), y);
#else
  return packet::pselect(packet::pcmp_lt(x, all(least)), all(0.0f), y);
#endif
}

/// exp(x + low) to about one unit in the last place; `low`, far below x, is what x lost when it was
/// rounded. Exactly 0 below -87.3 (where denormals would begin) and at -∞, so that a forbidden key
/// weighs nothing. Above 88 it stays at exp(88). NaN stays NaN.
inline Packet exp(Packet x, Packet low) {
  using namespace packet;
  constexpr float kLowest = -87.3f;
  const Packet clamped = pmin(pmax(x, all(kLowest)), all(88.0f));
  // Adding 1.5 · 2^23 rounds to a whole number.
  const Packet rounder = all(12582912.0f);
  const Packet n = psub(padd(pmul(clamped, all(1.44269504f)), rounder), rounder);
  // ln 2 in two parts; the first has few bits, so that n times it is exact.
  Packet r = pmadd(n, all(-0.693359375f), clamped);
  r = padd(pmadd(n, all(2.12194440e-4f), r), low);
  // e^r = 1 + r + r² p(r) on |r| <= ln 2 / 2; p fitted for the least largest relative error, 3e-9.
  Packet p = all(0.00138144312f);
  p = pmadd(p, r, all(0.0083687969f));
  p = pmadd(p, r, all(0.0416683958f));
  p = pmadd(p, r, all(0.1666652f));
  p = pmadd(p, r, all(0.499999934f));
  const Packet y = padd(pmadd(pmul(r, r), p, r), all(1.0f));
  return zero_below(x, kLowest, times_two_to(y, n));
}

inline Packet exp(Packet x) { return exp(x, all(0.0f)); }

/// 1 / x to about one unit in the last place, for x that are neither 0 nor infinite.
inline Packet reciprocal(Packet x) {
#ifdef EIGEN_VECTORIZE_AVX512
  const Packet guess = _mm512_rcp14_ps(x);  // and a step of Newton's: a third of a division's time
  return packet::pmadd(guess, packet::pmadd(packet::pnegate(guess), x, all(1.0f)), guess);
#else
  return packet::pdiv(all(1.0f), x);
#endif
}

inline Packet tanh(Packet x) { return packet::ptanh(x); }
/// NaN stays NaN, where tanh() may give an end of its range.
inline Packet whole_tanh(Packet x) { return packet::pselect(packet::pcmp_eq(x, x), tanh(x), x); }

/// The logistic function σ(x); 0 where it is below the smallest float, so that it beats any x.
inline Packet silu_gate(Packet x) {
  using namespace packet;
  const Packet gate = pdiv(all(1.0f), padd(all(1.0f), exp(pnegate(x))));
  return zero_below(x, -87.0f, gate);
}

}  // namespace headlight::simd
