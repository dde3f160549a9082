// What the cpu backend makes of one call of a program, before it runs it: where the tensors lie,
// which product of matrices it is, how much work.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/backends/cpu/kernels.h"
#include "core/graph/program.h"

namespace headlight::cpu {

/// A call's tensors. With empty memory only the shapes are known.
struct Call {
  const OpCall& call;
  std::array<std::span<const Axis>, 4> axes;
  std::array<const float*, 4> in;
  std::span<const Axis> out_axes;
  float* out;

  Call(const Program&, const OpCall&, std::span<float* const> memory);
  const float* bias() const { return call.in.size() > 2 ? in[2] : nullptr; }
  std::int64_t cells() const { return cell_count(out_axes); }
};

/// The same product for several matrices: heads, batch items. Steps count cells from one to the
/// next.
struct ProductSeries {
  kernels::Product first;
  std::int64_t count = 1;
  std::int64_t a_step = 0, b_step = 0, bias_step = 0, c_step = 0;

  kernels::Product at(std::int64_t i) const;
};

/// The operations that are products; the call must be one of that operation.
ProductSeries linear_product(const Call&);
ProductSeries linear_transposed_product(const Call&);
ProductSeries project_product(const Call&);
/// Heads narrower than a tile fill it better side by side: as one product whose B is the weights as
/// kernels::join_heads() lays them, at `joined`. Bits are the same.
bool joins_heads(const Call& project);
ProductSeries joined_project_product(const Call&, const float* joined);
ProductSeries scores_product(const Call&);
ProductSeries weighted_sum_product(const Call&);
/// For each batch item: both matrices are read transposed.
ProductSeries focus_scores_product(const Call&);

/// mask: scores (batch, head, query, key); which row of the mask (batch, query, key) belongs to a
/// row of the scores.
std::int64_t mask_row(const Call&, std::int64_t row);

/// The four operations that compute nothing, so that every row of the result is a row found
/// elsewhere: in which input, how long the rows are, and which row it is.
int moved_input(const Call&);
std::int64_t moved_width(const Call&);
std::int64_t source_row(const Call&, std::int64_t row);

/// Work in floating-point operations of a product, which run at about 100 a nanosecond; a cell of
/// another operation counts for as many as would take the same time. Depends on shapes alone.
double work_of(const Call&);

}  // namespace headlight::cpu
