// The gates of smooth activation functions looked up: a polynomial for each of 32 stretches, whose
// coefficients a packet finds in two registers. Only kernels_*.cpp should include it.
#pragma once

#include <array>
#include <cmath>
#include <numbers>

#include "core/backends/cpu/simd.h"

namespace headlight::simd {

#ifdef EIGEN_VECTORIZE_AVX512

/// Of a gate g that rises from 0 to 1 with g(x) = 1 − g(−x): g(−z) and g'(z) for z from 0 to
/// 31 / per_unit, each to about 1e-7 of itself where no change of x by 1 / per_unit makes it more
/// than e^0.6 times as large. It takes a third to two thirds of the time of the formulas: those
/// wait for the units that multiply.
template <int per_unit>
class GateTable {
  static constexpr int kPlaces = 2 * kWidth;
  static constexpr std::size_t kTerms = 6;
  using Table = std::array<std::array<float, kPlaces>, kTerms>;

 public:
  using Function = double (*)(double);

  /// `derivative` is g'.
  GateTable(Function g, Function derivative) {
    for (int place = 0; place < kPlaces; ++place) {
      const double middle = -static_cast<double>(place) / per_unit;
      fill(gate_, place, middle, g);
      fill(slope_, place, middle, derivative);
    }
  }

  /// x with the numbers that the table does not hold, NaN among them, in `far`.
  struct Place {
    __m512i index;
    Packet rest;  // from the middle of the stretch
    __mmask16 far;
    bool all_near() const { return far == 0; }
  };
  static Place find(Packet x) {
    const Packet z = packet::pabs(x);
    const Packet rounder = all(12582912.0f);  // 1.5 · 2^23: its last bits are the index
    const Packet shifted = pmadd(z, all(static_cast<float>(per_unit)), rounder);
    const Packet middle = psub(shifted, rounder);
    const Packet rest = pmadd(middle, all(-1 / static_cast<float>(per_unit)), z);
    const Packet end = all(static_cast<float>(kPlaces - 1) / static_cast<float>(per_unit));
    return {_mm512_castps_si512(shifted), rest, _mm512_cmp_ps_mask(z, end, _CMP_NLE_UQ)};
  }

  /// The polynomials of g or of g', which a loop keeps in registers.
  class Polynomials {
   public:
    explicit Polynomials(const Table& table) {
      for (std::size_t k = 0; k < kTerms; ++k) {
        first_[k] = _mm512_load_ps(table[k].data());
        second_[k] = _mm512_load_ps(table[k].data() + kWidth);
      }
    }
    Packet at(const Place& place) const {
      Packet sum = coefficients(kTerms - 1, place);
      for (std::size_t k = kTerms - 1; k-- > 0;)
        sum = pmadd(sum, place.rest, coefficients(k, place));
      return sum;
    }

   private:
    Packet coefficients(std::size_t term, const Place& place) const {
      return _mm512_permutex2var_ps(first_[term], place.index, second_[term]);
    }
    Packet first_[kTerms], second_[kTerms];
  };
  Polynomials gates() const { return Polynomials(gate_); }
  Polynomials slopes() const { return Polynomials(slope_); }

  /// g(x), of what gates() gives.
  static Packet gate(Packet x, Packet low) {
    const __mmask16 positive = _mm512_cmp_ps_mask(x, all(0.0f), _CMP_GE_OQ);
    return _mm512_mask_sub_ps(low, positive, all(1.0f), low);
  }

 private:
  // The polynomial in z − |middle| through f at Chebyshev's points, by divided differences.
  static void fill(Table& table, int place, double middle, Function f) {
    std::array<double, kTerms> at{}, term{}, sum{};
    for (std::size_t k = 0; k < kTerms; ++k) {
      const double angle = (static_cast<double>(k) + 0.5) / static_cast<double>(kTerms);
      at[k] = 0.5 / per_unit * std::cos(std::numbers::pi * angle);
      term[k] = f(middle - at[k]);
    }
    for (std::size_t j = 1; j < kTerms; ++j) {
      for (std::size_t k = kTerms - 1; k >= j; --k)
        term[k] = (term[k] - term[k - 1]) / (at[k] - at[k - j]);
    }
    for (std::size_t k = kTerms; k-- > 0;) {
      for (std::size_t j = kTerms - 1; j > 0; --j) sum[j] = sum[j - 1] - at[k] * sum[j];
      sum[0] = term[k] - at[k] * sum[0];
    }
    for (std::size_t k = 0; k < kTerms; ++k)
      table[k][static_cast<std::size_t>(place)] = static_cast<float>(sum[k]);
  }

  alignas(64) Table gate_, slope_;
};

#endif

}  // namespace headlight::simd
