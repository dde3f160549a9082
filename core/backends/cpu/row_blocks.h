// Rows by the block, as many as a packet has numbers: what a row has one of (its mean, its largest
// number) is then a packet for all of them, where each row alone would wait for its own sum, its
// own root and its own division. Only kernels_*.cpp should include it.
#pragma once

#include "core/backends/cpu/simd.h"

namespace headlight::simd {

inline constexpr std::int64_t kBlockRows = kWidth;

/// A number for each row of a block.
class RowNumbers {
 public:
  RowNumbers() = default;
  explicit RowNumbers(Packet numbers) { packet::pstore(cells_, numbers); }
  Packet operator[](std::int64_t row) const { return all(cells_[row]); }
  float at(std::int64_t row) const { return cells_[row]; }
  void set(std::int64_t row, float number) { cells_[row] = number; }

 private:
  alignas(64) float cells_[kWidth];
};

/// Folds each of up to kBlockRows rows: f(row, i, extent, folded) for the packets along it, from
/// `start` on; then the numbers of each row's packet among each other. Rows past the last have
/// `start`'s.
template <class F, class G>
inline Packet fold_rows(std::int64_t rows, std::int64_t n, Packet start, F&& f, G&& among) {
  Square folded;
  for (std::int64_t r = 0; r < kBlockRows; ++r) {
    Packet row = start;
    if (r < rows) {
      for_packets(n, [&](std::int64_t i, auto extent) { row = f(r, i, extent, row); });
    }
    folded.packet[r] = row;
  }
  packet::ptranspose(folded);
  for (int half = kWidth / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) {
      folded.packet[i] = among(folded.packet[i], folded.packet[i + half]);
    }
  }
  return folded.packet[0];
}

/// Σ term(row, i, extent) along each row. `term` gives 0 outside the row.
template <class F>
inline Packet sum_rows(std::int64_t rows, std::int64_t n, F&& term) {
  return fold_rows(
      rows, n, all(0.0f),
      [&](std::int64_t r, std::int64_t i, auto extent, Packet sum) {
        return packet::padd(sum, term(r, i, extent));
      },
      [](Packet a, Packet b) { return packet::padd(a, b); });
}

}  // namespace headlight::simd
