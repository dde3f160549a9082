// The loops of the Eigen backend, over plain memory: each works on one piece of an operation, on
// one thread. The reference operations in core/ops say what each computes; these say how to do it
// fast.
#pragma once

#include <cstdint>

namespace headlight::kernels {

// ---- products ----

/// C = A · B + bias. All row-major; strides count cells from one row to the next.
struct Product {
  const float* a = nullptr;  // (rows, inner)
  std::int64_t a_stride = 0;
  const float* b = nullptr;  // (inner, columns), or (columns, inner) when transposed
  std::int64_t b_stride = 0;
  bool b_transposed = false;
  const float* bias = nullptr;  // (columns), may be left out
  float* c = nullptr;           // (rows, columns)
  std::int64_t c_stride = 0;
  std::int64_t rows = 0, columns = 0, inner = 0;
};

/// Every cell is summed in the same order whatever piece of C is asked for, so products may be cut
/// anywhere. `scratch` has kScratchFloats cells and starts on a 64-byte boundary.
void multiply(const Product&, float* scratch);

/// Floats in a vector register, and the columns of the widest register tile: good places to cut.
extern const std::int64_t kPacketColumns;
extern const std::int64_t kTileColumns;
/// Rows worth a piece: enough of them repay the packing of B.
inline constexpr std::int64_t kPieceRows = 128;
/// Tiles side by side that multiply() packs at once.
inline constexpr std::int64_t kPieceTiles = 4;
/// Cells of scratch memory that a kernel may ask for, whatever the machine.
inline constexpr std::int64_t kScratchFloats = 192 * 192;

/// S[i, j] = Σ_e v[e] · tanh(q[i, e] + k[j, e])
struct AdditiveScores {
  const float* q = nullptr;  // (queries, width)
  const float* k = nullptr;  // (keys, width)
  const float* v = nullptr;  // (width)
  float* scores = nullptr;   // (queries, keys)
  std::int64_t queries = 0, keys = 0, width = 0;
};
void additive_scores(const AdditiveScores&, float* scratch);

// ---- cell by cell, n cells ----

void add(const float* a, const float* b, float* y, std::int64_t n);
void scale(const float* x, float factor, float* y, std::int64_t n);
/// y = x where mask is 0, else −∞
void mask(const float* x, const float* mask, float* y, std::int64_t n);
void relu(const float* x, float* y, std::int64_t n);
void gelu(const float* x, float* y, std::int64_t n);
void gelu_tanh(const float* x, float* y, std::int64_t n);

// ---- row by row, n cells a row ----

/// Softmax of x / temperature. A row without a finite or positive number is all zeros, one with +∞
/// or NaN is all NaN.
void softmax_row(const float* x, double temperature, float* y, std::int64_t n);
/// `bias` may be null.
void layer_norm_row(const float* x, const float* weight, const float* bias, float epsilon, float* y,
                    std::int64_t n);
/// Sinusoids of positions first, first + 1, ... in `rows` rows of `width`.
void sinusoid_rows(std::int64_t first, std::int64_t rows, std::int64_t width, float* y);

}  // namespace headlight::kernels
