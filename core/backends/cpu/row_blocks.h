// Rows by the block, as many as a packet has numbers: what a row has one of (its mean, its largest
// number) is then a packet for all of them, where each row alone would wait for its own sum, its
// own root and its own division. Only kernels_*.cpp should include it.
#pragma once

#include <span>
#include <utility>

#include "core/backends/cpu/simd.h"
#include "core/graph/mask_blocks.h"

namespace headlight::simd {

inline constexpr std::int64_t kBlockRows = kWidth;

/// A number for each row of a block.
class RowNumbers {
 public:
  RowNumbers() = default;
  explicit RowNumbers(Packet numbers) { packet::pstore(cells_, numbers); }
  Packet operator[](std::int64_t row) const { return all(cells_[row]); }
  float at(std::int64_t row) const { return cells_[row]; }
  Packet packet() const { return packet::pload<Packet>(cells_); }
  void set(std::int64_t row, float number) { cells_[row] = number; }

 private:
  alignas(64) float cells_[kWidth];
};

/// The packets along some runs of a row.
template <class F>
inline void for_packets(std::span<const Stretch> runs, F&& f) {
  for (const Stretch& run : runs) {
    for_packets(run.size(), [&](std::int64_t i, auto extent) { f(run.begin + i, extent); });
  }
}

/// Folds the numbers of each packet among each other, the second half on the first and so on:
/// number i of the result is of packet i.
template <class G>
inline Packet fold_packets(Square& rows, G&& among) {
  Packet* p = rows.packet;
#ifdef EIGEN_VECTORIZE_AVX512
  // Half of the shuffles that turning the square takes: two rows' halves go side by side, then four
  // rows' quarters. The sums are the same.
  for (int i = 0; i < 8; ++i) {
    p[i] = among(_mm512_shuffle_f32x4(p[i], p[i + 8], 0x44),
                 _mm512_shuffle_f32x4(p[i], p[i + 8], 0xEE));
  }
  for (int i = 0; i < 4; ++i) {
    p[i] = among(_mm512_shuffle_f32x4(p[i], p[i + 4], 0x88),
                 _mm512_shuffle_f32x4(p[i], p[i + 4], 0xDD));
  }
  for (int i = 0; i < 2; ++i) {
    p[i] = among(_mm512_shuffle_ps(p[i], p[i + 2], 0x44), _mm512_shuffle_ps(p[i], p[i + 2], 0xEE));
  }
  const Packet mixed =
      among(_mm512_shuffle_ps(p[0], p[1], 0x88), _mm512_shuffle_ps(p[0], p[1], 0xDD));
  const __m512i order = _mm512_setr_epi32(0, 2, 1, 3, 8, 10, 9, 11, 4, 6, 5, 7, 12, 14, 13, 15);
  return _mm512_permutexvar_ps(order, mixed);
#else
  packet::ptranspose(rows);
  for (int half = kWidth / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) p[i] = among(p[i], p[i + half]);
  }
  return p[0];
#endif
}

/// Folds each of up to kBlockRows rows: f(row, i, extent, folded) for the packets along it (of its
/// first cells, or of some runs), from `start` on; then the numbers of each row's packet among each
/// other. Rows past the last have `start`'s.
template <class Cells, class F, class G>
inline Packet fold_rows(std::int64_t rows, const Cells& cells, Packet start, F&& f, G&& among) {
  Square folded;
  for (std::int64_t r = 0; r < kBlockRows; ++r) {
    Packet row = start;
    if (r < rows) {
      for_packets(cells, [&](std::int64_t i, auto extent) { row = f(r, i, extent, row); });
    }
    folded.packet[r] = row;
  }
  return fold_packets(folded, among);
}

inline Packet sum_of(Packet a, Packet b) { return packet::padd(a, b); }
inline Packet larger_of(Packet a, Packet b) { return packet::pmax(a, b); }

/// Σ term(row, i, extent) along each row. `term` gives 0 outside the row.
template <class Cells, class F>
inline Packet sum_rows(std::int64_t rows, const Cells& cells, F&& term) {
  return fold_rows(
      rows, cells, all(0.0f),
      [&](std::int64_t r, std::int64_t i, auto extent, Packet sum) {
        return packet::padd(sum, term(r, i, extent));
      },
      sum_of);
}

// ---- the same of terms that are made of few numbers ----
//
// A packet of each row at a time, so that short rows cost no loop each; the sums stay in registers.

/// The same, but read anew: numbers of so many rows that a loop's registers cannot keep them are
/// else read before it, and put onto the stack.
template <class T>
inline const T& anew(const T& x) {
  const T* place = &x;
  asm volatile("" : "+r"(place));
  return *place;
}

/// Calls f(row) for rows [0, count), each by itself.
template <int count, class F>
inline void for_each_row(F&& f) {
  [&]<int... row>(std::integer_sequence<int, row...>) {
    (f(std::integral_constant<int, row>{}), ...);
  }
  (std::make_integer_sequence<int, count>{});
}

/// Calls f(row) for rows [0, rows), up to kBlockRows.
template <class F>
inline void for_rows(std::int64_t rows, F&& f) {
  if (rows == kBlockRows) {
    for_each_row<kBlockRows>([&](auto r) { f(std::int64_t{r}); });
  } else {
    for (std::int64_t r = 0; r < rows; ++r) f(r);
  }
}

template <class F>
inline Packet sum_short_rows(std::int64_t rows, std::int64_t n, F&& term) {
  if (rows < kBlockRows) return sum_rows(rows, n, term);
  Square sums;
  for_each_row<kBlockRows>([&](auto r) { sums.packet[r] = all(0.0f); });
  for_packets(n, [&](std::int64_t i, auto extent) {
    for_each_row<kBlockRows>([&](auto r) {
      sums.packet[r] = packet::padd(sums.packet[r], term(std::int64_t{r}, i, extent));
    });
  });
  return fold_packets(sums, sum_of);
}

/// Two sums along each row: of the terms, and of what term(row, i, extent, other) puts into
/// `other`.
template <class F>
inline Packet sum_rows_twice(std::int64_t rows, std::int64_t n, F&& term, Packet& others) {
  Square sums, other;
  for_each_row<kBlockRows>([&](auto r) { sums.packet[r] = other.packet[r] = all(0.0f); });
  const auto add = [&](std::int64_t r, std::int64_t i, auto extent, Packet& sum, Packet& also_sum) {
    Packet also;
    sum = packet::padd(sum, term(r, i, extent, also));
    also_sum = packet::padd(also_sum, also);
  };
  constexpr int kTogether = kBlockRows / 2;  // both sums of so many stay in registers
  for (std::int64_t first = 0; first < rows; first += kTogether) {
    if (rows - first < kTogether) {
      for (std::int64_t r = first; r < rows; ++r) {
        for_packets(n, [&](std::int64_t i, auto extent) {
          add(r, i, extent, sums.packet[r], other.packet[r]);
        });
      }
      break;
    }
    Packet sum[kTogether], also[kTogether];
    for_each_row<kTogether>([&](auto r) { sum[r] = also[r] = all(0.0f); });
    for_packets(n, [&](std::int64_t i, auto extent) {
      for_each_row<kTogether>([&](auto r) { add(first + r, i, extent, sum[r], also[r]); });
    });
    for_each_row<kTogether>([&](auto r) {
      sums.packet[first + r] = sum[r];
      other.packet[first + r] = also[r];
    });
  }
  others = fold_packets(other, sum_of);
  return fold_packets(sums, sum_of);
}

}  // namespace headlight::simd
