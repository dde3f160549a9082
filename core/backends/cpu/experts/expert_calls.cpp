#include "core/backends/cpu/experts/expert_calls.h"

#include <algorithm>

namespace headlight::cpu {
namespace {

using kernels::Into;

void send(Into into, std::int64_t i, float value) {
  into.cells[i] = into.adds ? into.cells[i] + value : value;
}

// ---- products ----

struct Sizes {
  std::int64_t batch, experts, positions, inner, outer;
  bool own;  // each expert has rows of its own

  std::int64_t x_cells() const { return positions * inner; }
  std::int64_t y_cells() const { return positions * outer; }
  std::int64_t w_cells() const { return inner * outer; }
};
Sizes sizes_of(const Call& c) {
  const auto &x = c.axes[0], &w = c.axes[1];
  return {x[0].size, w[0].size, x[x.size() - 2].size, w[1].size, w[2].size, x.size() == 4};
}

// Of one batch item: one product for each expert.
ProductSeries product_of(const Call& c, const Sizes& z, std::int64_t b) {
  return {{.a = c.in[0] + b * (z.own ? z.experts : 1) * z.x_cells(),
           .a_stride = z.inner,
           .b = c.in[1],
           .b_stride = z.outer,
           .bias = c.bias(),
           .c = c.out + b * z.experts * z.y_cells(),
           .c_stride = z.outer,
           .rows = z.positions,
           .columns = z.outer,
           .inner = z.inner},
          z.experts,
          z.own ? z.x_cells() : 0,
          z.w_cells(),
          z.outer,
          z.y_cells()};
}

// dX_e = dY_e · W_eᵀ; of rows that all share the sum over the experts, one after the other.
void rows_backward(Pieces& pieces, const GradientCall& g, const Sizes& z, std::int64_t b) {
  const float* d = g.d_out + b * z.experts * z.y_cells();
  const Into into = g.d_in[0] + b * (z.own ? z.experts : 1) * z.x_cells();
  const kernels::Product first{.a = d,
                               .a_stride = z.outer,
                               .b = g.c.in[1],
                               .b_stride = z.outer,
                               .b_transposed = true,
                               .adds = into.adds,
                               .c = into.cells,
                               .c_stride = z.inner,
                               .rows = z.positions,
                               .columns = z.inner,
                               .inner = z.outer};
  if (z.own) return pieces.products({first, z.experts, z.y_cells(), z.w_cells(), 0, z.x_cells()});
  for (std::int64_t e = 0; e < z.experts; ++e) {
    kernels::Product one = first;
    one.a += e * z.y_cells();
    one.b += e * z.w_cells();
    one.adds = into.adds || e > 0;
    pieces.products({one});
  }
}

// dW_e = Σ over the batch X_eᵀ · dY_e
void weights_backward(Pieces& pieces, const GradientCall& g, const Sizes& z, std::int64_t b) {
  const ProductSeries forward = product_of(g.c, z, b);
  pieces.products({{.a = forward.first.a,
                    .a_stride = z.inner,
                    .b = g.d_out + b * z.experts * z.y_cells(),
                    .b_stride = z.outer,
                    .a_transposed = true,
                    .adds = g.d_in[1].adds || b > 0,
                    .c = g.d_in[1].cells,
                    .c_stride = z.outer,
                    .rows = z.inner,
                    .columns = z.outer,
                    .inner = z.positions},
                   z.experts,
                   forward.a_step,
                   z.y_cells(),
                   0,
                   z.w_cells()});
}

void bias_backward(Pieces& pieces, const GradientCall& g, const Sizes& z) {
  pieces.for_stretches(z.experts, z.batch * z.y_cells(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t e = begin; e < end; ++e) {
      for (std::int64_t b = 0; b < z.batch; ++b) {
        Into into = g.d_in[2] + e * z.outer;
        into.adds |= b > 0;
        kernels::column_sums(g.d_out + (b * z.experts + e) * z.y_cells(), z.positions, z.outer,
                             z.outer, into);
      }
    }
  });
}

void linear_backward(Pieces& pieces, const GradientCall& g) {
  const Sizes z = sizes_of(g.c);
  for (std::int64_t b = 0; b < z.batch; ++b) {
    if (g.d_in[0].cells) rows_backward(pieces, g, z, b);
    if (g.d_in[1].cells) weights_backward(pieces, g, z, b);
  }
  if (g.d_in[2].cells) bias_backward(pieces, g, z);
}

// ---- the best ----

bool is_heard(const float* g, std::int64_t experts, std::int64_t e, std::int64_t best) {
  std::int64_t better = 0;
  for (std::int64_t j = 0; j < experts; ++j) better += g[j] > g[e] || (g[j] == g[e] && j < e);
  return better < best;
}

std::int64_t heard_of(const Call& c, std::int64_t experts) {
  const std::int64_t best = c.call.params.best;
  return best <= 0 ? experts : std::min(best, experts);
}

// See core/ops/experts/gate.cpp: what the weights of the best are divided by.
double divisor(const float* g, std::int64_t experts, std::int64_t best) {
  if (best == 1) return 1;
  double sum = 0;
  for (std::int64_t e = 0; e < experts; ++e) sum += is_heard(g, experts, e, best) ? g[e] : 0.0;
  return sum;
}

void best_experts(Pieces& pieces, const Call& c) {
  const auto shape = as_rows(c.out_axes);
  const std::int64_t n = shape.columns, best = heard_of(c, n);
  pieces.for_stretches(shape.rows, n * n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const float* g = c.in[0] + r * n;
      const double sum = divisor(g, n, best);
      for (std::int64_t e = 0; e < n; ++e) {
        const bool heard = is_heard(g, n, e, best) && sum != 0;
        c.out[r * n + e] = heard ? static_cast<float>(g[e] / sum) : 0.0f;
      }
    }
  });
}

void best_experts_backward(Pieces& pieces, const GradientCall& call) {
  if (!call.d_in[0].cells) return;
  const auto shape = as_rows(call.c.out_axes);
  const std::int64_t n = shape.columns, best = heard_of(call.c, n);
  pieces.for_stretches(shape.rows, n * n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const float *g = call.c.in[0] + r * n, *w = call.c.out + r * n, *d = call.d_out + r * n;
      const double sum = divisor(g, n, best);
      double mean = 0;
      for (std::int64_t j = 0; best > 1 && j < n; ++j) mean += static_cast<double>(w[j]) * d[j];
      for (std::int64_t e = 0; e < n; ++e) {
        const bool heard = is_heard(g, n, e, best) && sum != 0;
        send(call.d_in[0], r * n + e, heard ? static_cast<float>((d[e] - mean) / sum) : 0.0f);
      }
    }
  });
}

// ---- the mixture ----

struct MixSizes {
  std::int64_t batch, positions, experts, width;
};
MixSizes mix_sizes(const Call& c) {
  const auto& g = c.axes[0];
  return {g[0].size, g[1].size, g[2].size, c.axes[1][3].size};
}

void mix(Pieces& pieces, const Call& c) {
  const MixSizes z = mix_sizes(c);
  pieces.for_stretches(
      z.batch * z.positions, z.experts * z.width, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          const std::int64_t b = row / z.positions, t = row % z.positions;
          float* out = c.out + row * z.width;
          std::fill_n(out, z.width, 0.0f);
          for (std::int64_t e = 0; e < z.experts; ++e) {
            const float weight = c.in[0][row * z.experts + e];
            if (weight == 0) continue;
            const float* y = c.in[1] + ((b * z.experts + e) * z.positions + t) * z.width;
            for (std::int64_t f = 0; f < z.width; ++f) out[f] += weight * y[f];
          }
        }
      });
}

void mix_backward(Pieces& pieces, const GradientCall& g) {
  const MixSizes z = mix_sizes(g.c);
  pieces.for_stretches(
      z.batch * z.positions, z.experts * z.width, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          const std::int64_t b = row / z.positions, t = row % z.positions;
          const float* d = g.d_out + row * z.width;
          for (std::int64_t e = 0; e < z.experts; ++e) {
            const std::int64_t at = ((b * z.experts + e) * z.positions + t) * z.width;
            if (g.d_in[0].cells) {
              double sum = 0;
              for (std::int64_t f = 0; f < z.width; ++f)
                sum += static_cast<double>(d[f]) * g.c.in[1][at + f];
              send(g.d_in[0], row * z.experts + e, static_cast<float>(sum));
            }
            if (!g.d_in[1].cells) continue;
            const float weight = g.c.in[0][row * z.experts + e];
            float* into = g.d_in[1].cells + at;
            if (g.d_in[1].adds) {
              for (std::int64_t f = 0; f < z.width; ++f) into[f] += weight * d[f];
            } else {
              for (std::int64_t f = 0; f < z.width; ++f) into[f] = weight * d[f];
            }
          }
        }
      });
}

// ---- the load ----

struct LoadSizes {
  std::int64_t batch, positions, experts, targets, best;
};
LoadSizes load_sizes(const Call& c) {
  const auto &g = c.axes[0], &y = c.axes[2];
  const std::int64_t best = c.call.params.best;
  return {g[0].size, g[1].size, g[2].size, y.size() == 1 ? 1 : y[1].size,
          best <= 0 ? 1 : std::min(best, g[2].size)};
}

// Of one expert and one batch item: how many tokens there are, its share of their choices, its mean
// weight.
struct ExpertLoad {
  double tokens = 0, share = 0, mean = 0;
};
ExpertLoad load_of(const Call& c, const LoadSizes& z, std::int64_t b, std::int64_t e) {
  ExpertLoad load;
  for (std::int64_t t = 0; t < z.positions; ++t) {
    if (c.in[1][b * z.positions + t] == 0) continue;
    const float* g = c.in[0] + (b * z.positions + t) * z.experts;
    ++load.tokens;
    load.share += is_heard(g, z.experts, e, z.best);
    load.mean += g[e];
  }
  if (load.tokens == 0) return load;
  load.share /= static_cast<double>(z.best) * load.tokens;
  load.mean /= load.tokens;
  return load;
}

void load_balance(Pieces& pieces, const Call& c) {
  const LoadSizes z = load_sizes(c);
  pieces.for_pieces(z.batch, [&](std::int64_t b, float*) {
    double sum = 0;
    for (std::int64_t e = 0; e < z.experts; ++e) {
      const ExpertLoad load = load_of(c, z, b, e);
      sum += load.share * load.mean;
    }
    const double cost = c.call.params.factor * static_cast<double>(z.experts) * sum;
    for (std::int64_t i = b * z.targets; i < (b + 1) * z.targets; ++i)
      c.out[i] = c.in[2][i] >= 0 ? static_cast<float>(cost) : 0.0f;
  });
}

void load_balance_backward(Pieces& pieces, const GradientCall& g) {
  if (!g.d_in[0].cells) return;
  const LoadSizes z = load_sizes(g.c);
  pieces.for_pieces(z.batch, [&](std::int64_t b, float*) {
    double d = 0;
    for (std::int64_t i = b * z.targets; i < (b + 1) * z.targets; ++i)
      d += g.c.in[2][i] >= 0 ? g.d_out[i] : 0.0;
    const double scale = d * g.c.call.params.factor * static_cast<double>(z.experts);
    for (std::int64_t e = 0; e < z.experts; ++e) {
      const ExpertLoad load = load_of(g.c, z, b, e);
      const auto slope = static_cast<float>(scale * load.share / std::max(load.tokens, 1.0));
      for (std::int64_t t = b * z.positions; t < (b + 1) * z.positions; ++t)
        send(g.d_in[0], t * z.experts + e, g.c.in[1][t] != 0 ? slope : 0.0f);
    }
  });
}

}  // namespace

void run_experts(Pieces& pieces, const Call& c) {
  switch (c.call.op) {
    case Op::kExpertLinear: {
      const Sizes z = sizes_of(c);
      for (std::int64_t b = 0; b < z.batch; ++b) pieces.products(product_of(c, z, b));
      return;
    }
    case Op::kTopExperts:
      return best_experts(pieces, c);
    case Op::kMix:
      return mix(pieces, c);
    default:
      return load_balance(pieces, c);
  }
}

void run_experts_backward(Pieces& pieces, const GradientCall& g) {
  switch (g.c.call.op) {
    case Op::kExpertLinear:
      return linear_backward(pieces, g);
    case Op::kTopExperts:
      return best_experts_backward(pieces, g);
    case Op::kMix:
      return mix_backward(pieces, g);
    default:
      return load_balance_backward(pieces, g);
  }
}

}  // namespace headlight::cpu
