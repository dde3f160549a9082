// The loops of the cpu backend, over plain memory: each works on one piece of an operation, on
// one thread. The reference operations in core/ops say what each computes; these say how to do it
// fast.
#pragma once

#include <cstdint>
#include <span>

#include "core/graph/mask_blocks.h"

namespace headlight::kernels {

// ---- products ----

/// C = A · B + bias. All row-major; strides count cells from one row to the next.
struct Product {
  const float* a = nullptr;  // (rows, inner), or (inner, rows) when transposed
  std::int64_t a_stride = 0;
  const float* b = nullptr;  // (inner, columns), or (columns, inner) when transposed
  std::int64_t b_stride = 0;
  bool a_transposed = false, b_transposed = false;
  bool adds = false;  // C += A · B, without bias
  // Each cell's sum, of no more than one part (sum_parts()), begins with what stands in C: as if
  // the terms before had been summed with these.
  bool continues = false;
  const float* bias = nullptr;  // (columns), may be left out
  float* c = nullptr;           // (rows, columns)
  std::int64_t c_stride = 0;
  std::int64_t rows = 0, columns = 0, inner = 0;
  // Where the columns of B begin that the thread's next product will read, as long as these and as
  // far apart; null: nobody knows.
  const float* b_next = nullptr;
};

/// Every cell is summed in the same order whatever piece of C is asked for, so products may be cut
/// anywhere. `scratch` has kScratchFloats cells and starts on a 64-byte boundary.
void multiply(const Product&, float* scratch);

/// A sum of `inner` terms is made of so many parts, each summed on its own; where part i begins.
std::int64_t sum_parts(std::int64_t inner);
std::int64_t sum_part_begin(std::int64_t inner, std::int64_t i);

/// out (columns, out_stride) = b (rows, columns) transposed, whose rows lie b_stride apart; cells
/// past the rows up to a whole number of kPacketColumns become 0, and out_stride has room for them.
void transpose(const float* b, std::int64_t b_stride, std::int64_t rows, std::int64_t columns,
               float* out, std::int64_t out_stride);

/// Heads' matrices (count, rows, width) as one matrix, in whose rows theirs lie side by side
/// (rows, count · width); and back.
void join_heads(const float* heads, std::int64_t count, std::int64_t rows, std::int64_t width,
                float* out);
void part_heads(const float* joined, std::int64_t count, std::int64_t rows, std::int64_t width,
                float* heads, bool adds);

/// Floats in a vector register, and the columns of the widest register tile: good places to cut.
extern const std::int64_t kPacketColumns;
extern const std::int64_t kTileColumns;
/// Rows worth a piece: enough of them repay the packing of B.
inline constexpr std::int64_t kPieceRows = 128;
/// Tiles side by side that multiply() packs at once.
inline constexpr std::int64_t kPieceTiles = 4;
/// How many side by side a piece should have, at least and at most: more where B is not packed.
struct PieceTiles {
  std::int64_t least = 1, most = kPieceTiles;
};
PieceTiles piece_tiles(const Product&);
/// Cells of scratch memory that a kernel may ask for, whatever the machine.
inline constexpr std::int64_t kScratchFloats = 192 * 192 + 256 * 128;

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
/// y = a · b
void multiply_cells(const float* a, const float* b, float* y, std::int64_t n);
/// y = x where mask is 0, else −∞
void mask(const float* x, const float* mask, float* y, std::int64_t n);
void relu(const float* x, float* y, std::int64_t n);
void gelu(const float* x, float* y, std::int64_t n);
void gelu_tanh(const float* x, float* y, std::int64_t n);
void silu(const float* x, float* y, std::int64_t n);
void tanh(const float* x, float limit, float* y, std::int64_t n);  // limit · tanh(x / limit)
/// y = gelu(x), and the slope there takes the place of x.
void gelu_with_slope(float* x, float* y, std::int64_t n);
void gelu_tanh_with_slope(float* x, float* y, std::int64_t n);
void silu_with_slope(float* x, float* y, std::int64_t n);

// ---- row by row, n cells a row ----

/// Softmax of x / temperature. A row without a finite or positive number is all zeros, one with +∞
/// or NaN is all NaN.
void softmax_row(const float* x, double temperature, float* y, std::int64_t n);
/// The cross-entropies of rows of n logits; 0 where a row's target is no id below n.
void cross_entropy(const float* x, const float* targets, float* losses, std::int64_t rows,
                   std::int64_t n);
/// The mean of the rows of x (rows, width) whose `present` is not 0; zeros where there is none.
void mean_pool(const float* x, const float* present, std::int64_t rows, std::int64_t width,
               float* y);
/// The rows of x (rows, width), zeros for those whose `present` is 0.
void keep_present(const float* x, const float* present, std::int64_t rows, std::int64_t width,
                  float* y);
/// The sum of the squares of g − identity over matrices (size, size), `cells` cells in all.
double distance_from_identity(const float* g, std::int64_t size, std::int64_t cells);
struct Waves {
  std::int64_t width = 0;
  bool halves = false, to_end = false;  // as of OpParams
};
/// Sinusoids of positions first, first + 1, ... in `rows` rows of waves.width.
void sinusoid_rows(std::int64_t first, std::int64_t rows, const Waves&, float* y);

/// y = (x - mean) / sqrt(variance + epsilon) · weight + bias for each of `rows` rows of n cells.
/// Not centred it is the RMS norm: the mean stays, and the variance is that about 0.
struct LayerNorm {
  const float *x = nullptr, *weight = nullptr, *bias = nullptr;  // `bias` may be null
  float epsilon = 0;
  bool centred = true;
  float* y = nullptr;
  std::int64_t rows = 0, n = 0;
};
void layer_norm(const LayerNorm&);

/// `rows` rows of scores, and of their mask, if any; strides count cells from one row to the next.
/// Only the cells of the runs are looked at, which begin at whole packets.
struct ScoreRows {
  float* scores = nullptr;
  std::int64_t stride = 0;
  float factor = 1;
  const float* mask = nullptr;  // 0: allowed
  std::int64_t mask_stride = 0;
  double temperature = 1;
  std::int64_t rows = 0;
  std::span<const Stretch> runs;
};
/// In place: scales by `factor`, masks, and takes the softmax of each row, as scale(), mask() and
/// softmax_row() do, to a few units in the last place.
void weigh_scores(const ScoreRows&);
/// From the gradients of the weights, which lie where the scores did, to those of the scores before
/// they were scaled, in place. A weight of 0 passes nothing.
void weigh_scores_backward(const ScoreRows&, const float* weights, std::int64_t weights_stride);

// ---- gradients (kernels_backward.cpp) ----

/// Where a gradient goes: it is written there, or added to what is there.
struct Into {
  float* cells = nullptr;
  bool adds = false;
  Into operator+(std::int64_t offset) const { return {cells + offset, adds}; }
};

// Cell by cell, n cells; `d` is dL/dy.
void pass_gradient(const float* d, Into, std::int64_t n);
void scale_backward(const float* d, float factor, Into, std::int64_t n);
void multiply_backward(const float* d, const float* factor, Into, std::int64_t n);
void mask_backward(const float* d, const float* mask, Into, std::int64_t n);
void relu_backward(const float* x, const float* d, Into, std::int64_t n);
void gelu_backward(const float* x, const float* d, Into, std::int64_t n);
void gelu_tanh_backward(const float* x, const float* d, Into, std::int64_t n);
void silu_backward(const float* x, const float* d, Into, std::int64_t n);
void tanh_backward(const float* x, float limit, const float* d, Into, std::int64_t n);

// Row by row, n cells a row.

/// `p` is the row that softmax_row() made. A weight of 0 passes nothing.
void softmax_backward_row(const float* p, const float* d, double temperature, Into, std::int64_t n);
/// Nothing where a row's target is not counted; `d` has the gradients of the rows' losses.
void cross_entropy_backward(const float* x, const float* targets, const float* d, Into,
                            std::int64_t rows, std::int64_t n);

/// Pairs of a row's features turned by the angles of its position; the rest stays as it is.
struct Rotary {
  const float *cosine = nullptr, *sine = nullptr;  // (positions, pairs)
  std::int64_t pairs = 0, width = 0;  // cells of a row: width, of which 2 · pairs turn
  bool interleaved = false;           // 2i and 2i + 1 are a pair, not i and i + pairs
  bool back = false;                  // the other way round, as gradients go
};
void rotate_row(const Rotary&, std::int64_t position, const float* x, Into);

/// Gradients of LayerNorm; `d` is dL/dy.
struct LayerNormBackward {
  const float *x = nullptr, *weight = nullptr, *d = nullptr;
  float epsilon = 0;
  bool centred = true;
  Into d_x = {};          // no cells: not wanted
  float* sums = nullptr;  // (2, n), added to: what these rows add to dL/d(weight) and dL/d(bias)
  std::int64_t rows = 0, n = 0;
};
void layer_norm_backward(const LayerNormBackward&);

/// `d` is the gradient of the mean; goes to the rows that are present, zeros to the others.
void mean_pool_backward(const float* d, const float* present, std::int64_t rows, std::int64_t width,
                        Into);

/// `d` goes to the rows that are present, zeros to the others.
void keep_present_backward(const float* d, const float* present, std::int64_t rows,
                           std::int64_t width, Into);
/// factor · (g − identity)
void distance_backward(const float* g, float factor, std::int64_t size, std::int64_t cells, Into);

/// The sums of the columns of d (rows, columns), whose rows lie `stride` apart.
void column_sums(const float* d, std::int64_t rows, std::int64_t stride, std::int64_t columns,
                 Into);

/// All are added to; those that are null are not wanted. d_q and d_k may be the same memory.
struct AdditiveScoresBackward {
  const float *q = nullptr, *k = nullptr, *v = nullptr;  // see AdditiveScores
  const float* d = nullptr;                              // (queries, keys)
  float *d_q = nullptr, *d_k = nullptr, *d_v = nullptr;
  std::int64_t queries = 0, keys = 0, width = 0;
};
void additive_scores_backward(const AdditiveScoresBackward&);

}  // namespace headlight::kernels
