// Layer norm, RMS norm and their gradients, block of rows by block.
#include <algorithm>
#include <cmath>

#include "core/backends/cpu/kernels.h"
#include "core/backends/cpu/row_blocks.h"

namespace headlight::kernels {
namespace {

using namespace simd;

/// What makes normal rows of up to kBlockRows rows of n cells.
class RowStatistics {
 public:
  RowStatistics(const float* x, std::int64_t rows, std::int64_t n, float epsilon, bool centred)
      : x_(x), n_(n) {
    const Packet count = all(static_cast<float>(n));
    if (!centred) {
      const auto square = [&](std::int64_t r, std::int64_t i, auto extent) {
        const Packet cells = load(x + r * n + i, extent);
        return pmul(cells, cells);
      };
      mean_ = rest_ = RowNumbers(all(0.0f));
      set_inverse(packet::pdiv(sum_rows(rows, n, square), count), rows, epsilon, centred);
      return;
    }
    mean_ = RowNumbers(packet::pdiv(sum_rows(rows, n,
                                             [&](std::int64_t r, std::int64_t i, auto extent) {
                                               return load(x + r * n + i, extent);
                                             }),
                                    count));
    // A row far from 0 lost the last bits of its mean: they are the mean of what is left.
    const auto left = [&](std::int64_t r, std::int64_t i, auto extent) {
      return psub(load(x + r * n + i, extent, mean_.at(r)), mean_[r]);  // 0 outside the row
    };
    const Packet rest = packet::pdiv(sum_rows(rows, n, left), count);
    const Packet squares = packet::pdiv(sum_rows(rows, n,
                                                 [&](std::int64_t r, std::int64_t i, auto extent) {
                                                   const Packet d = left(r, i, extent);
                                                   return pmul(d, d);
                                                 }),
                                        count);
    // Where all are equal this could be a little below 0.
    Packet variance = psub(squares, pmul(rest, rest));
    variance = packet::pselect(packet::pcmp_lt(variance, all(0.0f)), all(0.0f), variance);
    rest_ = RowNumbers(rest);
    set_inverse(variance, rows, epsilon, centred);
  }

  /// (x − mean) / σ, cells [i, i + kWidth) of a row
  template <class Extent>
  Packet normal(std::int64_t row, std::int64_t i, Extent extent) const {
    const Packet d = psub(load(x_ + row * n_ + i, extent), mean_[row]);
    return pmul(psub(d, rest_[row]), inverse_[row]);
  }
  Packet inverse(std::int64_t row) const { return inverse_[row]; }

 private:
  void set_inverse(Packet variance, std::int64_t rows, float epsilon, bool centred) {
    constexpr float kTiny = 1e-30f, kHuge = 1e30f;
    const Packet square = padd(variance, all(epsilon));
    inverse_ = RowNumbers(packet::pdiv(all(1.0f), packet::psqrt(square)));
    const RowNumbers squares(square);
    for (std::int64_t r = 0; r < rows; ++r)
      if (!(squares.at(r) > kTiny && squares.at(r) < kHuge)) set_far(r, epsilon, centred);
  }

  // The squares of numbers far from 1 are infinite, or nothing, unless they are doubles.
  void set_far(std::int64_t row, float epsilon, bool centred) {
    const float* x = x_ + row * n_;
    const auto count = static_cast<double>(n_);
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; centred && i < n_; ++i) sum += x[i];
    const double mean = sum / count;
    for (std::int64_t i = 0; i < n_; ++i) squares += (x[i] - mean) * (x[i] - mean);
    mean_.set(row, static_cast<float>(mean));
    rest_.set(row, static_cast<float>(mean - mean_.at(row)));
    inverse_.set(row, static_cast<float>(1 / std::sqrt(squares / count + epsilon)));
  }

  const float* x_;
  std::int64_t n_;
  RowNumbers mean_, rest_, inverse_;
};

void backward_block(const LayerNormBackward& m, std::int64_t rows) {
  const std::int64_t n = m.n;
  const RowStatistics statistics(m.x, rows, n, m.epsilon, m.centred);
  if (m.sums) {
    for_packets(n, [&](std::int64_t i, auto extent) {
      Packet weight = load(m.sums + i, extent), bias = load(m.sums + n + i, extent);
      for (std::int64_t r = 0; r < rows; ++r) {
        const Packet d = load(m.d + r * n + i, extent);
        weight = pmadd(d, statistics.normal(r, i, extent), weight);
        bias = padd(bias, d);
      }
      store(m.sums + i, weight, extent);
      store(m.sums + n + i, bias, extent);
    });
  }
  if (!m.d_x.cells) return;
  const auto weighted = [&](std::int64_t r, std::int64_t i, auto extent) {
    return pmul(load(m.d + r * n + i, extent), load(m.weight + i, extent));  // 0 outside the row
  };
  const Packet count = all(static_cast<float>(n));
  const auto slanted = [&](std::int64_t r, std::int64_t i, auto extent) {
    return pmul(weighted(r, i, extent), statistics.normal(r, i, extent));
  };
  const RowNumbers mean(m.centred ? packet::pdiv(sum_rows(rows, n, weighted), count) : all(0.0f));
  const RowNumbers slant(packet::pdiv(sum_rows(rows, n, slanted), count));
  for (std::int64_t r = 0; r < rows; ++r) {
    const Into into = m.d_x + r * n;
    for_packets(n, [&](std::int64_t i, auto extent) {
      const Packet above = psub(weighted(r, i, extent), mean[r]);
      const Packet normal = packet::pnegate(statistics.normal(r, i, extent));
      const Packet turned = pmadd(normal, slant[r], above);
      Packet d = pmul(turned, statistics.inverse(r));
      if (into.adds) d = padd(load(into.cells + i, extent), d);
      store(into.cells + i, d, extent);
    });
  }
}

}  // namespace

void layer_norm(const LayerNorm& m) {
  for (std::int64_t first = 0; first < m.rows; first += kBlockRows) {
    const std::int64_t rows = std::min(kBlockRows, m.rows - first);
    const RowStatistics statistics(m.x + first * m.n, rows, m.n, m.epsilon, m.centred);
    for (std::int64_t r = 0; r < rows; ++r) {
      float* y = m.y + (first + r) * m.n;
      for_packets(m.n, [&](std::int64_t i, auto extent) {
        const Packet normal = statistics.normal(r, i, extent), w = load(m.weight + i, extent);
        store(y + i, m.bias ? pmadd(normal, w, load(m.bias + i, extent)) : pmul(normal, w), extent);
      });
    }
  }
}

void layer_norm_backward(const LayerNormBackward& m) {
  LayerNormBackward block = m;
  for (std::int64_t first = 0; first < m.rows; first += kBlockRows) {
    block.x = m.x + first * m.n;
    block.d = m.d + first * m.n;
    if (m.d_x.cells) block.d_x = m.d_x + first * m.n;
    backward_block(block, std::min(kBlockRows, m.rows - first));
  }
}

}  // namespace headlight::kernels
