// The backward pass of the cpu backend through products, whose gradients are products again.
#include <algorithm>

#include "core/backends/cpu/backward_calls.h"

namespace headlight::cpu {

using kernels::Into;

// Of C = A · B: dA = dC · Bᵀ and dB = Aᵀ · dC. Of C = A · Bᵀ: dA = dC · B and dB = dCᵀ · A. For
// each matrix of the series.
void BackwardPass::operands(const GradientCall& g, const ProductSeries& forward) {
  const kernels::Product& y = forward.first;
  const bool turned = y.b_transposed;
  if (g.d_in[0].cells) {
    pieces_.products({{.a = g.d_out,
                       .a_stride = y.columns,
                       .b = y.b,
                       .b_stride = y.b_stride,
                       .b_transposed = !turned,
                       .adds = g.d_in[0].adds,
                       .c = g.d_in[0].cells,
                       .c_stride = y.inner,
                       .rows = y.rows,
                       .columns = y.inner,
                       .inner = y.columns},
                      forward.count,
                      forward.c_step,
                      forward.b_step,
                      0,
                      forward.a_step});
  }
  if (g.d_in[1].cells) {
    pieces_.products({{.a = turned ? g.d_out : y.a,
                       .a_stride = turned ? y.columns : y.inner,
                       .b = turned ? y.a : g.d_out,
                       .b_stride = turned ? y.inner : y.columns,
                       .a_transposed = true,
                       .adds = g.d_in[1].adds,
                       .c = g.d_in[1].cells,
                       .c_stride = y.b_stride,
                       .rows = turned ? y.columns : y.inner,
                       .columns = y.b_stride,
                       .inner = y.rows},
                      forward.count,
                      turned ? forward.c_step : forward.a_step,
                      turned ? forward.a_step : forward.c_step,
                      0,
                      forward.b_step});
  }
}

// Of S = Wᵀ · uᵀ for each batch item: du = dSᵀ · Wᵀ, and dW = Σ uᵀ · dSᵀ over the batch.
void BackwardPass::focus_scores(const GradientCall& g) {
  const ProductSeries forward = focus_scores_product(g.c);
  const kernels::Product& y = forward.first;
  if (g.d_in[0].cells) {
    pieces_.products({{.a = g.d_out,
                       .a_stride = y.columns,
                       .b = y.a,
                       .b_stride = y.a_stride,
                       .a_transposed = true,
                       .b_transposed = true,
                       .adds = g.d_in[0].adds,
                       .c = g.d_in[0].cells,
                       .c_stride = y.inner,
                       .rows = y.columns,
                       .columns = y.inner,
                       .inner = y.rows},
                      forward.count,
                      forward.c_step,
                      0,
                      0,
                      forward.b_step});
  }
  for (std::int64_t b = 0; g.d_in[1].cells && b < forward.count; ++b) {
    pieces_.products({{.a = y.b + b * forward.b_step,
                       .a_stride = y.inner,
                       .b = g.d_out + b * forward.c_step,
                       .b_stride = y.columns,
                       .a_transposed = true,
                       .b_transposed = true,
                       .adds = g.d_in[1].adds || b > 0,
                       .c = g.d_in[1].cells,
                       .c_stride = y.rows,
                       .rows = y.inner,
                       .columns = y.rows,
                       .inner = y.columns}});
  }
}

void BackwardPass::linear(const GradientCall& g) {
  const ProductSeries forward = linear_product(g.c);
  operands(g, forward);
  bias(g.d_out, forward.first.rows, forward.first.columns, g.d_in[2]);
}

void BackwardPass::linear_transposed(const GradientCall& g) {
  const ProductSeries forward = linear_transposed_product(g.c);
  operands(g, forward);
  bias(g.d_out, forward.first.rows, forward.first.columns, g.d_in[2]);
}

// dX = Σ_h dY_h · W_hᵀ, dW_h = Xᵀ · dY_h. The heads' columns of dY lie side by side, so with the
// transposed weights one below the other the sum over heads is one product.
void BackwardPass::project(const GradientCall& g) {
  const kernels::Product y = project_product(g.c).first;
  const std::int64_t heads = g.c.axes[1][0].size, width = y.columns, all = heads * width;
  if (g.d_in[0].cells) {
    const std::int64_t stride =
        parts_of(y.inner, kernels::kPacketColumns) * kernels::kPacketColumns;
    float* turned = scratch(all * stride);
    for (std::int64_t h = 0; h < heads; ++h) {
      kernels::transpose(y.b + h * y.inner * width, width, y.inner, width,
                         turned + h * width * stride, stride);
    }
    pieces_.products({{.a = g.d_out,
                       .a_stride = all,
                       .b = turned,
                       .b_stride = stride,
                       .adds = g.d_in[0].adds,
                       .c = g.d_in[0].cells,
                       .c_stride = y.inner,
                       .rows = y.rows,
                       .columns = y.inner,
                       .inner = all}});
  }
  if (g.d_in[1].cells) project_weights(g, y, heads);
  bias(g.d_out, y.rows, all, g.d_in[2]);
}

void BackwardPass::project_weights(const GradientCall& g, const kernels::Product& y,
                                   std::int64_t heads) {
  const std::int64_t width = y.columns, all = heads * width;
  const bool joins = joins_heads(g.c);
  float* joined = joins ? scratch(y.inner * all) : nullptr;
  const kernels::Product first = {.a = y.a,
                                  .a_stride = y.inner,
                                  .b = g.d_out,
                                  .b_stride = all,
                                  .a_transposed = true,
                                  .adds = !joins && g.d_in[1].adds,
                                  .c = joins ? joined : g.d_in[1].cells,
                                  .c_stride = joins ? all : width,
                                  .rows = y.inner,
                                  .columns = joins ? all : width,
                                  .inner = y.rows};
  if (!joins) return pieces_.products({first, heads, 0, width, 0, y.inner * width});
  pieces_.products({first});
  kernels::part_heads(joined, heads, y.inner, width, g.d_in[1].cells, g.d_in[1].adds);
}

void BackwardPass::bias(const float* d, std::int64_t rows, std::int64_t columns, Into into) {
  if (!into.cells) return;
  const std::int64_t stripe = 4 * kernels::kPacketColumns;
  pieces_.for_pieces(parts_of(columns, stripe), [&](std::int64_t piece, float*) {
    const std::int64_t begin = piece * stripe;
    kernels::column_sums(d + begin, rows, columns, std::min(stripe, columns - begin), into + begin);
  });
}

}  // namespace headlight::cpu
