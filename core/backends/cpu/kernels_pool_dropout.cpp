// The operations that only classifiers and training have: the mean of a row's tokens, and dropout.
#include <algorithm>

#include "core/backends/cpu/kernels.h"
#include "core/backends/cpu/simd.h"

namespace headlight::kernels {
namespace {

using namespace simd;

double tokens_of(const float* present, std::int64_t rows) {
  double sum = 0;
  for (std::int64_t t = 0; t < rows; ++t) sum += present[t];
  return sum;
}

}  // namespace

void multiply_cells(const float* a, const float* b, float* y, std::int64_t n) {
  for_packets(n, [&](std::int64_t i, auto extent) {
    store(y + i, pmul(load(a + i, extent), load(b + i, extent)), extent);
  });
}

void multiply_backward(const float* d, const float* factor, Into into, std::int64_t n) {
  for_packets(n, [&](std::int64_t i, auto extent) {
    const Packet passed = pmul(load(d + i, extent), load(factor + i, extent));
    float* cells = into.cells + i;
    store(cells, into.adds ? padd(load(cells, extent), passed) : passed, extent);
  });
}

void mean_pool(const float* x, const float* present, std::int64_t rows, std::int64_t width,
               float* y) {
  const double tokens = tokens_of(present, rows);
  const float share = tokens > 0 ? static_cast<float>(1.0 / tokens) : 0.0f;
  for_packets(width, [&](std::int64_t f, auto extent) {
    Packet sum = all(0.0f);
    for (std::int64_t t = 0; t < rows; ++t) {
      if (present[t] == 0.0f) continue;
      sum = pmadd(all(present[t]), load(x + t * width + f, extent), sum);
    }
    store(y + f, pmul(sum, all(share)), extent);
  });
}

void mean_pool_backward(const float* d, const float* present, std::int64_t rows, std::int64_t width,
                        Into into) {
  const double tokens = tokens_of(present, rows);
  for (std::int64_t t = 0; t < rows; ++t) {
    const Into row = into + t * width;
    if (present[t] == 0.0f) {
      if (!row.adds) std::fill_n(row.cells, width, 0.0f);
    } else {
      scale_backward(d, static_cast<float>(present[t] / tokens), row, width);
    }
  }
}

}  // namespace headlight::kernels
