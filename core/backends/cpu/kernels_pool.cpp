// Pooling, for classifiers: from all tokens' rows to one.
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

void keep_present(const float* x, const float* present, std::int64_t rows, std::int64_t width,
                  float* y) {
  for (std::int64_t t = 0; t < rows; ++t) {
    if (present[t] == 0.0f) {
      std::fill_n(y + t * width, width, 0.0f);
    } else {
      std::copy_n(x + t * width, width, y + t * width);
    }
  }
}

void keep_present_backward(const float* d, const float* present, std::int64_t rows,
                           std::int64_t width, Into into) {
  for (std::int64_t t = 0; t < rows; ++t) {
    const Into row = into + t * width;
    if (present[t] != 0.0f) {
      pass_gradient(d + t * width, row, width);
    } else if (!row.adds) {
      std::fill_n(row.cells, width, 0.0f);
    }
  }
}

namespace {
float from_identity(const float* g, std::int64_t size, std::int64_t cell) {
  return g[cell] - (cell % (size * size) % (size + 1) == 0 ? 1.0f : 0.0f);
}
}  // namespace

double distance_from_identity(const float* g, std::int64_t size, std::int64_t cells) {
  double sum = 0;
  for (std::int64_t i = 0; i < cells; ++i) {
    const double d = from_identity(g, size, i);
    sum += d * d;
  }
  return sum;
}

void distance_backward(const float* g, float factor, std::int64_t size, std::int64_t cells,
                       Into into) {
  for (std::int64_t i = 0; i < cells; ++i) {
    const float slope = factor * from_identity(g, size, i);
    into.cells[i] = into.adds ? into.cells[i] + slope : slope;
  }
}

}  // namespace headlight::kernels
