// The functions of recurrent layers, over rows of n numbers.
#pragma once

#include <cstdint>

namespace headlight::kernels {

/// In place.
void tanh_row(float* x, std::int64_t n);
/// d = g · (1 − s²)
void tanh_slope_row(const float* s, const float* g, float* d, std::int64_t n);

/// One text's step of a gated recurrent unit. a and h (3 n): the gates' part of the row and of the
/// state before, r, z, n side by side; `past` is that state, or null for zeros.
struct GruRow {
  const float *a = nullptr, *h = nullptr, *past = nullptr;
  std::int64_t n = 0;
};
void gru_row(const GruRow&, float* state);
/// From g = dL/ds: d_a (3 n), d_h (3 n), and what the state before gets without U, `kept` (n).
void gru_row_backward(const GruRow&, const float* g, float* d_a, float* d_h, float* kept);

}  // namespace headlight::kernels
