#include "core/backends/cpu/heads/head_calls.h"

#include <algorithm>

namespace headlight::cpu {
namespace {

// A (batch, head, …): how many matrices, of how many cells.
struct Matrices {
  std::int64_t batch, heads, cells;
};
Matrices matrices_of(std::span<const Axis> axes) {
  return {axes[0].size, axes[1].size, axes[2].size * axes[3].size};
}

template <class F>
void for_matrices(Pieces& pieces, std::int64_t count, std::int64_t cells, F&& f) {
  pieces.for_stretches(count, cells, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t m = begin; m < end; ++m) f(m);
  });
}

void append_row(Pieces& pieces, const Call& c) {
  const Matrices x = matrices_of(c.axes[0]);
  const std::int64_t width = c.out_axes[3].size;
  for_matrices(pieces, x.batch * x.heads, x.cells + width, [&](std::int64_t m) {
    float* row = std::copy_n(c.in[0] + m * x.cells, x.cells, c.out + m * (x.cells + width));
    if (c.call.in.size() > 1) {
      std::copy_n(c.in[1] + m % x.heads * width, width, row);
    } else {
      std::fill_n(row, width, 0.0f);
    }
  });
}

// The added row is felt by every batch item.
void append_row_backward(Pieces& pieces, const GradientCall& g) {
  const Matrices x = matrices_of(g.c.axes[0]);
  const std::int64_t width = g.c.out_axes[3].size, all = x.cells + width;
  if (g.d_in[0].cells) {
    for_matrices(pieces, x.batch * x.heads, x.cells, [&](std::int64_t m) {
      kernels::pass_gradient(g.d_out + m * all, g.d_in[0] + m * x.cells, x.cells);
    });
  }
  if (g.c.call.in.size() < 2 || !g.d_in[1].cells) return;
  for (std::int64_t h = 0; h < x.heads; ++h)
    kernels::column_sums(g.d_out + h * all + x.cells, x.batch, x.heads * all, width,
                         g.d_in[1] + h * width);
}

void mask_heads(Pieces& pieces, const Call& c) {
  const Matrices a = matrices_of(c.out_axes);
  for_matrices(pieces, a.batch * a.heads, a.cells, [&](std::int64_t m) {
    kernels::scale(c.in[0] + m * a.cells, c.in[1][m % a.heads], c.out + m * a.cells, a.cells);
  });
}

void mask_heads_backward(Pieces& pieces, const GradientCall& g) {
  if (!g.d_in[0].cells) return;
  const Matrices a = matrices_of(g.c.out_axes);
  for_matrices(pieces, a.batch * a.heads, a.cells, [&](std::int64_t m) {
    kernels::scale_backward(g.d_out + m * a.cells, g.c.in[1][m % a.heads], g.d_in[0] + m * a.cells,
                            a.cells);
  });
}

void mean_heads(Pieces& pieces, const Call& c) {
  const Matrices a = matrices_of(c.axes[0]);
  const auto heads = static_cast<double>(a.heads);
  pieces.for_stretches(c.cells(), a.heads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const float* first = c.in[0] + i / a.cells * a.heads * a.cells + i % a.cells;
      double sum = 0;
      for (std::int64_t h = 0; h < a.heads; ++h) sum += first[h * a.cells];
      c.out[i] = static_cast<float>(sum / heads);
    }
  });
}

void mean_heads_backward(Pieces& pieces, const GradientCall& g) {
  if (!g.d_in[0].cells) return;
  const Matrices a = matrices_of(g.c.axes[0]);
  const auto share = static_cast<float>(1.0 / static_cast<double>(a.heads));
  for_matrices(pieces, a.batch * a.heads, a.cells, [&](std::int64_t m) {
    kernels::scale_backward(g.d_out + m / a.heads * a.cells, share, g.d_in[0] + m * a.cells,
                            a.cells);
  });
}

}  // namespace

void run_heads(Pieces& pieces, const Call& c) {
  switch (c.call.op) {
    case Op::kAppendRow:
      return append_row(pieces, c);
    case Op::kMaskHeads:
      return mask_heads(pieces, c);
    default:
      return mean_heads(pieces, c);
  }
}

void run_heads_backward(Pieces& pieces, const GradientCall& g) {
  switch (g.c.call.op) {
    case Op::kAppendRow:
      return append_row_backward(pieces, g);
    case Op::kMaskHeads:
      return mask_heads_backward(pieces, g);
    default:
      return mean_heads_backward(pieces, g);
  }
}

}  // namespace headlight::cpu
