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
    const Packet share = all(1.0f / static_cast<float>(n));
    if (!centred) {
      const auto square = [&](std::int64_t r, std::int64_t i, auto extent) {
        const Packet cells = load(x + r * n + i, extent);
        return pmul(cells, cells);
      };
      mean_ = RowNumbers(all(0.0f));
      const Packet squares = pmul(sum_short_rows(rows, n, square), share);
      set_scale(squares, all(0.0f), rows, epsilon, centred);
      return;
    }
    mean_ = RowNumbers(pmul(sum_short_rows(rows, n,
                                           [&](std::int64_t r, std::int64_t i, auto extent) {
                                             return load(x + r * n + i, extent);
                                           }),
                            share));
    // A row far from 0 lost the last bits of its mean: they are the mean of what is left.
    Packet rest;
    const auto square_left = [&](std::int64_t r, std::int64_t i, auto extent, Packet& left) {
      left = psub(load(x + r * n + i, extent, mean_.at(r)), mean_[r]);  // 0 outside the row
      return pmul(left, left);
    };
    const Packet squares = pmul(sum_rows_twice(rows, n, square_left, rest), share);
    rest = pmul(rest, share);
    // Where all are equal this could be a little below 0.
    const Packet variance = psub(squares, pmul(rest, rest));
    set_scale(zero_below(variance, 0.0f, variance), rest, rows, epsilon, centred);
  }

  // Cells [i, i + kWidth) of a row: x less the mean but for its last bits, and (x − mean) / σ.
  template <class Extent>
  Packet left(std::int64_t row, std::int64_t i, Extent extent) const {
    return psub(load(x_ + row * n_ + i, extent), mean_[row]);
  }
  template <class Extent>
  Packet normal(std::int64_t row, std::int64_t i, Extent extent) const {
    return pmadd(left(row, i, extent), inverse_[row], shift_[row]);
  }
  /// 1 / σ, and what is added to left / σ.
  Packet inverse(std::int64_t row) const { return inverse_[row]; }
  Packet inverse() const { return inverse_.packet(); }
  Packet shift() const { return shift_.packet(); }

 private:
  void set_scale(Packet variance, Packet rest, std::int64_t rows, float epsilon, bool centred) {
    constexpr float kTiny = 1e-30f, kHuge = 1e30f;
    const Packet square = padd(variance, all(epsilon));
    const Packet inverse = packet::pdiv(all(1.0f), packet::psqrt(square));
    inverse_ = RowNumbers(inverse);
    shift_ = RowNumbers(pmul(packet::pnegate(rest), inverse));
    // One by one: of a NaN among them a least or a largest would know nothing.
    const Packet inside =
        packet::pand(packet::pcmp_lt(all(kTiny), square), packet::pcmp_lt(square, all(kHuge)));
    if (packet::predux(packet::pselect(inside, all(0.0f), all(1.0f))) == 0) return;
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
    const double inverse = 1 / std::sqrt(squares / count + epsilon);
    mean_.set(row, static_cast<float>(mean));
    inverse_.set(row, static_cast<float>(inverse));
    shift_.set(row, static_cast<float>((mean_.at(row) - mean) * inverse));
  }

  const float* x_;
  std::int64_t n_;
  RowNumbers mean_, inverse_, shift_;  // the mean's last bits are in `shift_`
};

// The sums over rows, for dL/d(weight) and dL/d(bias): of even rows and of odd ones, so that no sum
// waits for the one before.
void add_sums(const LayerNormBackward& m, const RowStatistics& statistics, std::int64_t rows) {
  const std::int64_t n = m.n;
  const float* gradient = m.d;
  for_packets(n, [&](std::int64_t i, auto extent) {
    Packet weight[2] = {load(m.sums + i, extent), all(0.0f)};
    Packet bias[2] = {load(m.sums + n + i, extent), all(0.0f)};
    const RowStatistics& of = anew(statistics);
    for_rows(rows, [&](std::int64_t r) {
      const Packet d = load(gradient + r * n + i, extent);
      weight[r % 2] = pmadd(d, of.normal(r, i, extent), weight[r % 2]);
      bias[r % 2] = padd(bias[r % 2], d);
    });
    store(m.sums + i, padd(weight[0], weight[1]), extent);
    store(m.sums + n + i, padd(bias[0], bias[1]), extent);
  });
}

void backward_block(const LayerNormBackward& m, std::int64_t rows) {
  const std::int64_t n = m.n;
  const RowStatistics statistics(m.x, rows, n, m.epsilon, m.centred);
  if (m.sums) add_sums(m, statistics, rows);
  if (!m.d_x.cells) return;
  const float *gradient = m.d, *weight = m.weight;
  const auto weighted = [&](std::int64_t r, std::int64_t i, auto extent) {
    return pmul(load(gradient + r * n + i, extent), load(weight + i, extent));  // 0 outside the row
  };
  // Σ weighted · normal is made of Σ weighted · (x − mean) and Σ weighted.
  const auto slanted = [&](std::int64_t r, std::int64_t i, auto extent, Packet& d) {
    d = weighted(r, i, extent);
    return pmul(d, statistics.left(r, i, extent));
  };
  const Packet share = all(1.0f / static_cast<float>(n));
  Packet sums;
  const Packet of_left = pmul(sum_rows_twice(rows, n, slanted, sums), statistics.inverse());
  const Packet slant = pmul(pmadd(sums, statistics.shift(), of_left), share);
  const RowNumbers less_slant(packet::pnegate(slant)),
      mean(m.centred ? pmul(sums, share) : all(0.0f));
  const Into into = m.d_x;
  for_packets(n, [&](std::int64_t i, auto extent) {
    const RowStatistics& of = anew(statistics);
    const RowNumbers &means = anew(mean), &slants = anew(less_slant);
    for_rows(rows, [&](std::int64_t r) {
      const Packet above = psub(weighted(r, i, extent), means[r]);
      const Packet turned = pmadd(of.normal(r, i, extent), slants[r], above);
      const Packet d = pmul(turned, of.inverse(r));
      float* cells = into.cells + r * n + i;
      store(cells, into.adds ? padd(load(cells, extent), d) : d, extent);
    });
  });
}

}  // namespace

void layer_norm(const LayerNorm& m) {
  const std::int64_t n = m.n;
  for (std::int64_t first = 0; first < m.rows; first += kBlockRows) {
    const std::int64_t rows = std::min(kBlockRows, m.rows - first);
    const RowStatistics statistics(m.x + first * n, rows, n, m.epsilon, m.centred);
    float* y = m.y + first * n;
    for_packets(n, [&](std::int64_t i, auto extent) {
      const Packet weight = load(m.weight + i, extent);
      const Packet bias = m.bias ? load(m.bias + i, extent) : all(0.0f);
      const RowStatistics& of = anew(statistics);
      for_rows(rows, [&](std::int64_t r) {
        store(y + r * n + i, pmadd(of.normal(r, i, extent), weight, bias), extent);
      });
    });
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
