#include "core/backends/cpu/call.h"

#include <algorithm>

namespace headlight::cpu {

Call::Call(const Program& program, const OpCall& c, std::span<float* const> memory)
    : call(c),
      axes{},
      in{},
      out_axes(program.tensors[static_cast<std::size_t>(c.out)].axes),
      out(memory.empty() ? nullptr : memory[static_cast<std::size_t>(c.out)]) {
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const auto id = static_cast<std::size_t>(c.in[i]);
    axes[i] = program.tensors[id].axes;
    in[i] = memory.empty() ? nullptr : memory[id];
  }
}

kernels::Product ProductSeries::at(std::int64_t i) const {
  kernels::Product m = first;
  m.a += i * a_step;
  m.b += i * b_step;
  if (m.bias) m.bias += i * bias_step;
  m.c += i * c_step;
  return m;
}

namespace {

// A · B (+ bias) of the first two inputs, or A · Bᵀ: of the first matrix, whose rows lie close
// together.
kernels::Product product_of(const Call& c, std::int64_t rows, std::int64_t inner,
                            bool transposed = false) {
  const std::int64_t columns = c.out_axes.back().size;
  return {.a = c.in[0],
          .a_stride = inner,
          .b = c.in[1],
          .b_stride = transposed ? inner : columns,
          .b_transposed = transposed,
          .bias = c.bias(),
          .c = c.out,
          .c_stride = columns,
          .rows = rows,
          .columns = columns,
          .inner = inner};
}

// The same for each batch item and head of keys or values. The queries of all heads that share one
// follow each other: one matrix of so many times the rows.
ProductSeries product_of_heads(const Call& c, bool transposed) {
  const std::int64_t rows = heads_per_kv(c.axes[0], c.axes[1]) * c.out_axes[2].size;
  const std::int64_t inner = c.axes[0][3].size, columns = c.out_axes[3].size;
  return {product_of(c, rows, inner, transposed),
          c.out_axes[0].size * c.axes[1][1].size,
          rows * inner,
          columns * inner,
          0,
          rows * columns};
}

}  // namespace

ProductSeries linear_product(const Call& c) {
  const auto [rows, inner] = as_rows(c.axes[0]);
  return {product_of(c, rows, inner)};
}

ProductSeries linear_transposed_product(const Call& c) {
  const auto [rows, inner] = as_rows(c.axes[0]);
  return {product_of(c, rows, inner, true)};
}

// q (queries, width) · k (keys, width) transposed
ProductSeries scores_product(const Call& c) { return product_of_heads(c, true); }
// weights (queries, keys) · v (keys, width)
ProductSeries weighted_sum_product(const Call& c) { return product_of_heads(c, false); }

// W (hidden, focus) and u (position, hidden), both transposed
ProductSeries focus_scores_product(const Call& c) {
  const std::int64_t positions = c.axes[0][1].size, hidden = c.axes[0][2].size;
  const std::int64_t foci = c.axes[1][1].size;
  return {{.a = c.in[1],
           .a_stride = foci,
           .b = c.in[0],
           .b_stride = hidden,
           .a_transposed = true,
           .b_transposed = true,
           .c = c.out,
           .c_stride = positions,
           .rows = foci,
           .columns = positions,
           .inner = hidden},
          c.axes[0][0].size,
          0,
          positions * hidden,
          0,
          foci * positions};
}

// One product for each head, into its columns of the common rows.
ProductSeries project_product(const Call& c) {
  const auto [rows, inner] = as_rows(c.axes[0]);
  const std::int64_t heads = c.axes[1][0].size, width = c.axes[1][2].size;
  return {{.a = c.in[0],
           .a_stride = inner,
           .b = c.in[1],
           .b_stride = width,
           .bias = c.bias(),
           .c = c.out,
           .c_stride = heads * width,
           .rows = rows,
           .columns = width,
           .inner = inner},
          heads,
          0,
          inner * width,
          width,
          width};
}

bool joins_heads(const Call& c) {
  const std::int64_t rows = as_rows(c.axes[0]).rows;
  return c.axes[1][0].size > 1 && c.axes[1][2].size < kernels::kTileColumns &&
         rows >= kernels::kPieceRows / 2;
}

ProductSeries joined_project_product(const Call& c, const float* joined) {
  ProductSeries series = project_product(c);
  series.first.columns *= series.count;
  series.first.b = joined;
  series.first.b_stride = series.first.columns;
  return {series.first};
}

std::int64_t mask_row(const Call& c, std::int64_t row) {
  const std::int64_t heads = c.out_axes[1].size, queries = c.out_axes[2].size;
  return row / (heads * queries) * queries + row % queries;
}

int moved_input(const Call& c) {
  return c.call.op == Op::kEmbed || c.call.op == Op::kLearnedPosition ? 1 : 0;
}

std::int64_t moved_width(const Call& c) {
  return c.call.op == Op::kConcatHeads ? c.axes[0][3].size : c.out_axes.back().size;
}

std::int64_t source_row(const Call& c, std::int64_t row) {
  const std::int64_t positions = c.axes[0][c.call.op == Op::kConcatHeads ? 2 : 1].size;
  switch (c.call.op) {
    case Op::kEmbed:
      return static_cast<std::int64_t>(c.in[0][row]);
    case Op::kLearnedPosition:
      return row % positions + c.call.params.offset;
    case Op::kSplitHeads: {  // row (batch, head, position) lies at (batch, position, head)
      const std::int64_t heads = c.out_axes[1].size, t = row % positions;
      const std::int64_t h = row / positions % heads, b = row / (positions * heads);
      return (b * positions + t) * heads + h;
    }
    default: {  // kConcatHeads, the other way round
      const std::int64_t heads = c.axes[0][1].size, h = row % heads;
      const std::int64_t t = row / heads % positions, b = row / (positions * heads);
      return (b * heads + h) * positions + t;
    }
  }
}

double work_of(const Call& c) {
  constexpr double kMove = 15;  // moving a number from memory to memory
  const OpInfo& info = op_info(c.call.op);
  const double flops = call_flops(info, c.axes[0], c.out_axes, c.axes[1]);
  const bool computes = info.work.per == WorkPer::kTerm || info.work.per == WorkPer::kPair;
  if (!computes) return flops * std::max(1.0, kMove / info.work.flops);
  // Few rows wait for the matrix that they are multiplied with.
  return std::max(flops, kMove * static_cast<double>(cell_count(c.axes[1])));
}

}  // namespace headlight::cpu
