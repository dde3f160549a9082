// Rows by the block, as many as a packet has numbers: what a row has one of (its mean, its largest
// number) is then a packet for all of them, where each row alone would wait for its own sum, its
// own root and its own division. Only kernels_*.cpp should include it.
#pragma once

#include <span>

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
  packet::ptranspose(folded);
  for (int half = kWidth / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) {
      folded.packet[i] = among(folded.packet[i], folded.packet[i + half]);
    }
  }
  return folded.packet[0];
}

/// Σ term(row, i, extent) along each row. `term` gives 0 outside the row.
template <class Cells, class F>
inline Packet sum_rows(std::int64_t rows, const Cells& cells, F&& term) {
  return fold_rows(
      rows, cells, all(0.0f),
      [&](std::int64_t r, std::int64_t i, auto extent, Packet sum) {
        return packet::padd(sum, term(r, i, extent));
      },
      [](Packet a, Packet b) { return packet::padd(a, b); });
}

}  // namespace headlight::simd
