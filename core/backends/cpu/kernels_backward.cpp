// The gradients of operations on cells and rows; those of products are products themselves.
#include <algorithm>
#include <cmath>

#include "core/backends/cpu/kernels.h"
#include "core/backends/cpu/simd.h"

namespace headlight::kernels {
namespace {

using namespace simd;

// Calls gradient(i, extent) for a row and writes what it gives, or adds it.
template <class F>
inline void send(Into into, std::int64_t n, F&& gradient) {
  float* cells = into.cells;
  if (into.adds) {
    for_packets(n, [&](std::int64_t i, auto extent) {
      store(cells + i, padd(load(cells + i, extent), gradient(i, extent)), extent);
    });
  } else {
    for_packets(
        n, [&](std::int64_t i, auto extent) { store(cells + i, gradient(i, extent), extent); });
  }
}

inline Packet unless(Packet condition, Packet x) {
  return packet::pselect(condition, all(0.0f), x);
}

}  // namespace

void pass_gradient(const float* d, Into into, std::int64_t n) {
  send(into, n, [&](std::int64_t i, auto extent) { return load(d + i, extent); });
}

void scale_backward(const float* d, float factor, Into into, std::int64_t n) {
  send(into, n,
       [&](std::int64_t i, auto extent) { return pmul(load(d + i, extent), all(factor)); });
}

void mask_backward(const float* d, const float* mask, Into into, std::int64_t n) {
  send(into, n, [&](std::int64_t i, auto extent) {
    const Packet allowed = packet::pcmp_eq(load(mask + i, extent), all(0.0f));
    return packet::pselect(allowed, load(d + i, extent), all(0.0f));
  });
}

void tanh_backward(const float* x, float limit, const float* d, Into into, std::int64_t n) {
  send(into, n, [&](std::int64_t i, auto extent) {
    const Packet y = whole_tanh(pmul(load(x + i, extent), all(1 / limit)));
    return pmul(load(d + i, extent), pmadd(packet::pnegate(y), y, all(1.0f)));
  });
}

void softmax_backward_row(const float* p, const float* d, double temperature, Into into,
                          std::int64_t n) {
  const double mean = sum_row(n, [&](std::int64_t i, auto extent) {
    return pmul(load(p + i, extent), load(d + i, extent));
  });
  const TwoFloats middle(mean);
  const Packet factor = all(static_cast<float>(1 / temperature));
  send(into, n, [&](std::int64_t i, auto extent) {
    const Packet weight = load(p + i, extent);
    const Packet above = centre(load(d + i, extent), middle);
    return unless(packet::pcmp_eq(weight, all(0.0f)), pmul(pmul(weight, above), factor));
  });
}

// Four rows side by side: one sum alone would wait for each addition to end.
void column_sums(const float* d, std::int64_t rows, std::int64_t stride, std::int64_t columns,
                 Into into) {
  constexpr std::int64_t kRows = 128;  // before floats are added to doubles
  for_packets(columns, [&](std::int64_t c, auto extent) {
    double total[kWidth] = {};
    for (std::int64_t begin = 0; begin < rows; begin += kRows) {
      const std::int64_t end = std::min(rows, begin + kRows);
      Packet sum[4] = {all(0.0f), all(0.0f), all(0.0f), all(0.0f)};
      for (std::int64_t r = begin; r + 4 <= end; r += 4) {
        for (int k = 0; k < 4; ++k) {
          sum[k] = padd(sum[k], load(d + (r + k) * stride + c, extent));
        }
      }
      for (std::int64_t r = end - (end - begin) % 4; r < end; ++r) {
        sum[0] = padd(sum[0], load(d + r * stride + c, extent));
      }
      alignas(64) float cells[kWidth];
      packet::pstore(cells, padd(padd(sum[0], sum[1]), padd(sum[2], sum[3])));
      for (int k = 0; k < kWidth; ++k) total[k] += static_cast<double>(cells[k]);
    }
    const std::int64_t inside = std::min<std::int64_t>(kWidth, columns - c);
    for (std::int64_t k = 0; k < inside; ++k) {
      float& cell = into.cells[c + k];
      cell = static_cast<float>(total[k] + (into.adds ? static_cast<double>(cell) : 0.0));
    }
  });
}

void additive_scores_backward(const AdditiveScoresBackward& m) {
  for_packets(m.width, [&](std::int64_t e, auto extent) {
    const auto add_to = [&](float* cells, Packet x) {
      if (cells) store(cells + e, padd(load(cells + e, extent), x), extent);
    };
    const Packet v = load(m.v + e, extent);
    for (std::int64_t i = 0; i < m.queries; ++i) {
      const Packet q = load(m.q + i * m.width + e, extent);
      Packet d_q = all(0.0f), d_v = all(0.0f);
      for (std::int64_t j = 0; j < m.keys; ++j) {
        const float d = m.d[i * m.keys + j];
        if (d == 0.0f) continue;  // a forbidden key
        const Packet bend = simd::tanh(padd(q, load(m.k + j * m.width + e, extent)));
        d_v = pmadd(all(d), bend, d_v);
        const Packet slope = psub(all(1.0f), pmul(bend, bend));
        const Packet share = pmul(pmul(all(d), v), slope);
        d_q = padd(d_q, share);
        add_to(m.d_k ? m.d_k + j * m.width : nullptr, share);
      }
      add_to(m.d_q ? m.d_q + i * m.width : nullptr, d_q);
      add_to(m.d_v, d_v);
    }
  });
}

}  // namespace headlight::kernels
