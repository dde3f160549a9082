// The cross-entropy of rows of logits and its gradient, block of rows by block.
#include <algorithm>
#include <limits>

#include "core/backends/cpu/kernels.h"
#include "core/backends/cpu/row_blocks.h"

namespace headlight::kernels {
namespace {

using namespace simd;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Longer sums go on in double.
template <class F>
Packet sum_long_rows(std::int64_t rows, std::int64_t n, F&& term) {
  if (n <= kStretch) return sum_rows(rows, n, term);
  alignas(64) float sums[kWidth] = {};
  for (std::int64_t r = 0; r < rows; ++r) {
    sums[r] = static_cast<float>(
        sum_row(n, [&](std::int64_t i, auto extent) { return term(r, i, extent); }));
  }
  return packet::pload<Packet>(sums);
}

/// Up to kBlockRows rows of logits.
class LossRows {
 public:
  LossRows(const float* x, const float* targets, std::int64_t rows, std::int64_t n)
      : x_(x), rows_(rows), n_(n), largest_(largest()) {
    for (std::int64_t r = 0; r < kBlockRows; ++r) {
      const bool counts = r < rows && targets[r] >= 0 && targets[r] < static_cast<float>(n);
      targets_.set(r, counts ? targets[r] : -1.0f);
      below_.set(r, counts ? largest_.at(r) - x[r * n + target(r)] : 0.0f);
    }
  }

  /// A row's target; −1 where it is no id.
  std::int64_t target(std::int64_t row) const {
    return static_cast<std::int64_t>(targets_.at(row));
  }
  /// How far the targets' logits lie below the largest.
  Packet below() const { return below_.packet(); }

  /// e to the power of the logits' distance from the largest, cells [i, i + kWidth) of a row.
  template <class Extent>
  Packet weight(std::int64_t row, std::int64_t i, Extent extent) const {
    Packet low;
    const Packet x = load(x_ + row * n_ + i, extent, -kInfinity);
    const Packet above = exact_difference(x, largest_[row], low);
    return simd::exp(above, low);
  }

  /// The rows' sums of all weights but the targets', whose 1 would swallow the others where it is
  /// nearly certain. keep(row, i, extent, weight) sees each weight.
  template <class F>
  Packet others(F&& keep) const {
    return sum_long_rows(rows_, n_, [&](std::int64_t r, std::int64_t i, auto extent) {
      const Packet found = weight(r, i, extent);
      keep(r, i, extent, found);
      const Packet place = packet::plset<Packet>(static_cast<float>(i));
      return packet::pselect(packet::pcmp_eq(place, targets_[r]), all(0.0f), found);
    });
  }

 private:
  Packet largest() const {
    return fold_rows(
        rows_, n_, all(-kInfinity),
        [&](std::int64_t r, std::int64_t i, auto extent, Packet row) {
          return packet::pmax(row, load(x_ + r * n_ + i, extent, -kInfinity));
        },
        larger_of);
  }

  const float* x_;
  std::int64_t rows_, n_;
  RowNumbers largest_, targets_, below_;
};

// Of the target's own weight and all others': −ln of its share. `below` is > 0 only where another
// logit is the largest, whose weight is 1.
Packet losses_of(Packet below, Packet others) {
  const Packet rest = padd(psub(others, all(1.0f)), simd::exp(packet::pnegate(below)));
  const Packet largest = packet::pcmp_eq(below, all(0.0f));
  return padd(packet::plog1p(packet::pselect(largest, others, rest)), below);
}

void backward_block(const LossRows& block, const float* d, Into into, std::int64_t rows,
                    std::int64_t n) {
  const Packet others = block.others([&](std::int64_t r, std::int64_t i, auto extent, Packet w) {
    if (!into.adds) store(into.cells + r * n + i, w, extent);  // not made a second time
  });
  const Packet sums = padd(others, simd::exp(packet::pnegate(block.below())));
  RowNumbers scale;
  for (std::int64_t r = 0; r < kBlockRows; ++r)
    scale.set(r, r < rows && block.target(r) >= 0 ? d[r] : 0.0f);
  const RowNumbers factor(packet::pdiv(scale.packet(), sums));
  // P − 1 is what all others have, less: of a target that is nearly certain nothing else is left.
  const RowNumbers share(pmul(scale.packet(), packet::pdiv(others, sums)));
  for (std::int64_t r = 0; r < rows; ++r) {
    const Into row = into + r * n;
    const std::int64_t target = block.target(r);
    if (target < 0) {
      if (!into.adds) std::fill_n(row.cells, n, 0.0f);
      continue;
    }
    const float before = into.adds ? row.cells[target] : 0.0f;
    for_packets(n, [&](std::int64_t i, auto extent) {
      const Packet cells = load(row.cells + i, extent);
      const Packet found =
          into.adds ? pmadd(block.weight(r, i, extent), factor[r], cells) : pmul(cells, factor[r]);
      store(row.cells + i, found, extent);
    });
    row.cells[target] = before - share.at(r);
  }
}

}  // namespace

void cross_entropy(const float* x, const float* targets, float* losses, std::int64_t rows,
                   std::int64_t n) {
  for (std::int64_t first = 0; first < rows; first += kBlockRows) {
    const std::int64_t count = std::min(kBlockRows, rows - first);
    const LossRows block(x + first * n, targets + first, count, n);
    const RowNumbers found(
        losses_of(block.below(), block.others([](std::int64_t, std::int64_t, auto, Packet) {})));
    for (std::int64_t r = 0; r < count; ++r)
      losses[first + r] = block.target(r) < 0 ? 0.0f : found.at(r);
  }
}

void cross_entropy_backward(const float* x, const float* targets, const float* d, Into into,
                            std::int64_t rows, std::int64_t n) {
  for (std::int64_t first = 0; first < rows; first += kBlockRows) {
    const std::int64_t count = std::min(kBlockRows, rows - first);
    const LossRows block(x + first * n, targets + first, count, n);
    backward_block(block, d + first, into + first * n, count, n);
  }
}

}  // namespace headlight::kernels
