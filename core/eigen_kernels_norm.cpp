// Layer norm and its gradient, as many rows at once as a packet has numbers: what a row has one of
// (its mean, its deviation) is then a packet for all of them, where each row alone would wait for
// its own sums, its own root and its own division.
#include <algorithm>

#include "core/eigen_kernels.h"
#include "core/eigen_kernels_simd.h"

namespace headlight::kernels {
namespace {

using namespace simd;
using packet::padd;
using packet::pmadd;
using packet::pmul;
using packet::psub;

/// A number for each of up to kWidth rows.
struct RowNumbers {
  alignas(64) float cells[kWidth];
  void operator=(Packet p) { packet::pstore(cells, p); }
  Packet all_of(std::int64_t row) const { return all(cells[row]); }
  operator Packet() const { return packet::pload<Packet>(cells); }
};

/// Σ of each row: row r is the sum of the packets f(r, i, extent) along it.
template <class F>
inline Packet sum_rows(std::int64_t rows, std::int64_t n, F&& f) {
  Square sums;
  for (std::int64_t r = 0; r < kWidth; ++r) {
    Packet sum = all(0.0f);
    if (r < rows) {
      for_packets(n, [&](std::int64_t i, auto extent) { sum = padd(sum, f(r, i, extent)); });
    }
    sums.packet[r] = sum;
  }
  return sums_of(sums);
}

/// What makes normal rows of up to kWidth rows of n cells.
class RowStatistics {
 public:
  RowStatistics(const float* x, std::int64_t rows, std::int64_t n, float epsilon) : x_(x), n_(n) {
    const Packet count = all(static_cast<float>(n));
    mean_ = packet::pdiv(sum_rows(rows, n,
                                  [&](std::int64_t r, std::int64_t i, auto extent) {
                                    return load(x + r * n + i, extent);
                                  }),
                         count);
    // A row far from 0 lost the last bits of its mean: they are the mean of what is left.
    const auto left = [&](std::int64_t r, std::int64_t i, auto extent) {
      return psub(load(x + r * n + i, extent, mean_.cells[r]), mean_.all_of(r));
    };
    rest_ = packet::pdiv(sum_rows(rows, n, left), count);
    const Packet squares = sum_rows(rows, n, [&](std::int64_t r, std::int64_t i, auto extent) {
      const Packet d = psub(left(r, i, extent), only(rest_.all_of(r), extent));
      return pmul(d, d);
    });
    const Packet variance = packet::pdiv(squares, count);
    inverse_ = packet::pdiv(all(1.0f), packet::psqrt(padd(variance, all(epsilon))));
  }

  /// (x − mean) / σ, cells [i, i + kWidth) of a row
  template <class Extent>
  Packet normal(std::int64_t row, std::int64_t i, Extent extent) const {
    const Packet d = psub(load(x_ + row * n_ + i, extent), mean_.all_of(row));
    return pmul(psub(d, rest_.all_of(row)), inverse_.all_of(row));
  }
  Packet inverse(std::int64_t row) const { return inverse_.all_of(row); }

 private:
  const float* x_;
  std::int64_t n_;
  RowNumbers mean_, rest_, inverse_;
};

void backward_block(const LayerNormBackward& m, std::int64_t rows) {
  const std::int64_t n = m.n;
  const RowStatistics statistics(m.x, rows, n, m.epsilon);
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
  RowNumbers mean, slant;
  mean = packet::pdiv(sum_rows(rows, n, weighted), count);
  slant =
      packet::pdiv(sum_rows(rows, n,
                            [&](std::int64_t r, std::int64_t i, auto extent) {
                              return pmul(weighted(r, i, extent), statistics.normal(r, i, extent));
                            }),
                   count);
  for (std::int64_t r = 0; r < rows; ++r) {
    const Into into = m.d_x + r * n;
    for_packets(n, [&](std::int64_t i, auto extent) {
      const Packet above = psub(weighted(r, i, extent), mean.all_of(r));
      const Packet turned = psub(above, pmul(statistics.normal(r, i, extent), slant.all_of(r)));
      Packet d = pmul(turned, statistics.inverse(r));
      if (into.adds) d = padd(load(into.cells + i, extent), d);
      store(into.cells + i, d, extent);
    });
  }
}

}  // namespace

void layer_norm(const LayerNorm& m) {
  for (std::int64_t first = 0; first < m.rows; first += kWidth) {
    const std::int64_t rows = std::min<std::int64_t>(kWidth, m.rows - first);
    const RowStatistics statistics(m.x + first * m.n, rows, m.n, m.epsilon);
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
  for (std::int64_t first = 0; first < m.rows; first += kWidth) {
    block.x = m.x + first * m.n;
    block.d = m.d + first * m.n;
    if (m.d_x.cells) block.d_x = m.d_x + first * m.n;
    backward_block(block, std::min<std::int64_t>(kWidth, m.rows - first));
  }
}

}  // namespace headlight::kernels
