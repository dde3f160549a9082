// The rows of attention's scores, block by block, as training runs them (see fusion.h).
#include <algorithm>
#include <limits>

#include "core/backends/cpu/kernels.h"
#include "core/backends/cpu/row_blocks.h"

namespace headlight::kernels {
namespace {

using namespace simd;

void weigh_block(const ScoreRows& m, std::int64_t rows) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Packet factor = all(m.factor), none = all(-kInfinity);
  const Packet largest = fold_rows(
      rows, m.runs, none,
      [&](std::int64_t r, std::int64_t i, auto extent, Packet row) {
        float* cells = m.scores + r * m.stride + i;
        Packet x = pmul(load(cells, extent, -kInfinity), factor);
        if (m.mask) {
          const Packet mask = load(m.mask + r * m.mask_stride + i, extent, -kInfinity);
          x = packet::pselect(packet::pcmp_eq(mask, all(0.0f)), x, none);
        }
        store(cells, x, extent);
        return packet::pmax(row, x);
      },
      larger_of);
  // From 0 where nothing is allowed, so that the weights are 0; from +∞ they become NaN.
  const RowNumbers level(packet::pselect(packet::pcmp_eq(largest, none), all(0.0f), largest));
  const Packet sharpness = all(static_cast<float>(1 / m.temperature));
  const Packet sums = sum_rows(rows, m.runs, [&](std::int64_t r, std::int64_t i, auto extent) {
    float* cells = m.scores + r * m.stride + i;
    const Packet above = psub(load(cells, extent, -kInfinity), level[r]);
    const Packet weight = simd::exp(pmul(above, sharpness));
    store(cells, weight, extent);
    return weight;
  });
  const RowNumbers inverse(
      packet::pselect(packet::pcmp_eq(sums, all(0.0f)), all(0.0f), packet::pdiv(all(1.0f), sums)));
  for (std::int64_t r = 0; r < rows; ++r) {
    float* cells = m.scores + r * m.stride;
    for_packets(m.runs, [&](std::int64_t i, auto extent) {
      store(cells + i, pmul(load(cells + i, extent), inverse[r]), extent);
    });
  }
}

void weigh_backward_block(const ScoreRows& m, const float* weights, std::int64_t weights_stride,
                          std::int64_t rows) {
  const auto weight = [&](std::int64_t r, std::int64_t i, auto extent) {
    return load(weights + r * weights_stride + i, extent);
  };
  const RowNumbers mean(sum_rows(rows, m.runs, [&](std::int64_t r, std::int64_t i, auto extent) {
    return pmul(weight(r, i, extent), load(m.scores + r * m.stride + i, extent));
  }));
  const Packet factor = all(static_cast<float>(static_cast<double>(m.factor) / m.temperature));
  for (std::int64_t r = 0; r < rows; ++r) {
    float* cells = m.scores + r * m.stride;
    for_packets(m.runs, [&](std::int64_t i, auto extent) {
      const Packet w = weight(r, i, extent), above = psub(load(cells + i, extent), mean[r]);
      const Packet d = pmul(pmul(w, above), factor);
      store(cells + i, packet::pselect(packet::pcmp_eq(w, all(0.0f)), all(0.0f), d), extent);
    });
  }
}

ScoreRows rows_from(const ScoreRows& m, std::int64_t first) {
  ScoreRows block = m;
  block.scores += first * m.stride;
  if (m.mask) block.mask += first * m.mask_stride;
  return block;
}

}  // namespace

void weigh_scores(const ScoreRows& m) {
  for (std::int64_t first = 0; first < m.rows; first += kBlockRows) {
    weigh_block(rows_from(m, first), std::min(kBlockRows, m.rows - first));
  }
}

void weigh_scores_backward(const ScoreRows& m, const float* weights, std::int64_t weights_stride) {
  for (std::int64_t first = 0; first < m.rows; first += kBlockRows) {
    weigh_backward_block(rows_from(m, first), weights + first * weights_stride, weights_stride,
                         std::min(kBlockRows, m.rows - first));
  }
}

}  // namespace headlight::kernels
