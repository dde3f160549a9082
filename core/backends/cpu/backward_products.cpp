// The backward pass of the cpu backend through products, whose gradients are products again.
#include <algorithm>

#include "core/backends/cpu/backward_calls.h"

namespace headlight::cpu {

using kernels::Into;

// dX = dY · Wᵀ, dW = Xᵀ · dY
void BackwardPass::linear(const GradientCall& g) {
  const ProductSeries forward = linear_product(g.c);
  const kernels::Product& y = forward.first;
  if (g.d_in[0].cells) {
    pieces_.products({{.a = g.d_out,
                       .a_stride = y.columns,
                       .b = y.b,
                       .b_stride = y.columns,
                       .b_transposed = true,
                       .adds = g.d_in[0].adds,
                       .c = g.d_in[0].cells,
                       .c_stride = y.inner,
                       .rows = y.rows,
                       .columns = y.inner,
                       .inner = y.columns}});
  }
  if (g.d_in[1].cells) {
    pieces_.products({{.a = y.a,
                       .a_stride = y.inner,
                       .b = g.d_out,
                       .b_stride = y.columns,
                       .a_transposed = true,
                       .adds = g.d_in[1].adds,
                       .c = g.d_in[1].cells,
                       .c_stride = y.columns,
                       .rows = y.inner,
                       .columns = y.columns,
                       .inner = y.rows}});
  }
  bias(g.d_out, y.rows, y.columns, g.d_in[2]);
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

// S = Q · Kᵀ, so dQ = dS · K and dK = dSᵀ · Q, for each batch item and head.
void BackwardPass::scores(const GradientCall& g) {
  const ProductSeries s = scores_product(g.c);
  const std::int64_t queries = s.first.rows, keys = s.first.columns, width = s.first.inner;
  if (g.d_in[0].cells) {
    pieces_.products({{.a = g.d_out,
                       .a_stride = keys,
                       .b = g.c.in[1],
                       .b_stride = width,
                       .adds = g.d_in[0].adds,
                       .c = g.d_in[0].cells,
                       .c_stride = width,
                       .rows = queries,
                       .columns = width,
                       .inner = keys},
                      s.count,
                      queries * keys,
                      keys * width,
                      0,
                      queries * width});
  }
  if (g.d_in[1].cells) {
    pieces_.products({{.a = g.d_out,
                       .a_stride = keys,
                       .b = g.c.in[0],
                       .b_stride = width,
                       .a_transposed = true,
                       .adds = g.d_in[1].adds,
                       .c = g.d_in[1].cells,
                       .c_stride = width,
                       .rows = keys,
                       .columns = width,
                       .inner = queries},
                      s.count,
                      queries * keys,
                      queries * width,
                      0,
                      keys * width});
  }
}

// Z = A · V, so dA = dZ · Vᵀ and dV = Aᵀ · dZ, for each batch item and head.
void BackwardPass::weighted_sum(const GradientCall& g) {
  const ProductSeries z = weighted_sum_product(g.c);
  const std::int64_t queries = z.first.rows, width = z.first.columns, keys = z.first.inner;
  if (g.d_in[0].cells) {
    pieces_.products({{.a = g.d_out,
                       .a_stride = width,
                       .b = g.c.in[1],
                       .b_stride = width,
                       .b_transposed = true,
                       .adds = g.d_in[0].adds,
                       .c = g.d_in[0].cells,
                       .c_stride = keys,
                       .rows = queries,
                       .columns = keys,
                       .inner = width},
                      z.count,
                      queries * width,
                      keys * width,
                      0,
                      queries * keys});
  }
  if (g.d_in[1].cells) {
    pieces_.products({{.a = g.c.in[0],
                       .a_stride = keys,
                       .b = g.d_out,
                       .b_stride = width,
                       .a_transposed = true,
                       .adds = g.d_in[1].adds,
                       .c = g.d_in[1].cells,
                       .c_stride = width,
                       .rows = keys,
                       .columns = width,
                       .inner = queries},
                      z.count,
                      queries * keys,
                      queries * width,
                      0,
                      keys * width});
  }
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
