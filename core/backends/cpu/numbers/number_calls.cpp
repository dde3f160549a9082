#include "core/backends/cpu/numbers/number_calls.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/backends/cpu/numbers/kernels_density.h"
#include "core/ops/numbers/grid.h"

namespace headlight::cpu {
namespace {

using kernels::Bell;
using kernels::Into;

constexpr double kHalfLogTwoPi = 0.91893853320467274;

void send(Into into, std::int64_t i, double value) {
  const double before = into.adds ? into.cells[i] : 0.0f;
  into.cells[i] = static_cast<float>(before + value);
}

void number(Pieces& pieces, const Call& c) {
  const std::int64_t count = c.call.params.features;
  pieces.for_stretches(c.cells(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      c.out[i] = static_cast<float>(grid_value(static_cast<std::int64_t>(c.in[0][i]), count));
  });
}

bool is_single(const Call& c) { return c.call.in.size() == 1; }

// Of the component at this cell, see core/ops/numbers/mixture_logits.cpp.
Bell bell_of(const Call& c, std::int64_t cell) {
  const double mean = std::clamp<double>(c.in[0][cell], -kFarthestMean, kFarthestMean);
  double spread = c.call.params.factor, level = 0;
  if (!is_single(c)) {
    spread = spread_of(c.in[2][cell], c.call.params.features);
    const double weight = std::max<double>(c.in[1][cell], kLowestWeight);
    level = std::log(weight) - std::log(spread) - kHalfLogTwoPi;
  }
  return {static_cast<float>(mean), static_cast<float>(1 / spread), static_cast<float>(level)};
}

struct Sizes {
  std::int64_t rows, components, numbers;
};
Sizes sizes_of(const Call& c) {
  const auto shape = as_rows(c.out_axes);
  return {shape.rows, c.axes[0][2].size, shape.columns};
}

// A few rows a piece: their components lie in its scratch.
template <class F>
void for_rows(Pieces& pieces, const Sizes& z, F&& f) {
  const std::int64_t length =
      std::max<std::int64_t>(1, kPieceCells / std::max<std::int64_t>(1, z.numbers * z.components));
  pieces.for_pieces(parts_of(z.rows, length), [&](std::int64_t piece, float* scratch) {
    auto* bells = reinterpret_cast<Bell*>(scratch);
    for (std::int64_t r = piece * length; r < std::min(z.rows, (piece + 1) * length); ++r)
      f(r, bells);
  });
}

void mixture_logits(Pieces& pieces, const Call& c) {
  const Sizes z = sizes_of(c);
  for_rows(pieces, z, [&](std::int64_t r, Bell* bells) {
    for (std::int64_t k = 0; k < z.components; ++k) bells[k] = bell_of(c, r * z.components + k);
    kernels::log_density({bells, z.components}, z.numbers, c.out + r * z.numbers);
  });
}

// What a cell's gradient is multiplied by last: 0 where grid.h holds the cell back.
double mean_slope(const Call& c, std::int64_t cell) {
  return std::abs(c.in[0][cell]) <= kFarthestMean ? 1 : 0;
}
double weight_slope(const Call& c, std::int64_t cell) {
  const double w = c.in[1][cell];
  return w >= kLowestWeight ? 1 / w : 0;
}
double spread_slope(const Call& c, std::int64_t cell) {
  const double s = c.in[2][cell];
  if (!(s >= kLowestLogSpread && s <= kHighestLogSpread)) return 0;
  return std::exp(s) / spread_of(s, c.call.params.features);
}

void mixture_backward(Pieces& pieces, const GradientCall& g) {
  const Call& c = g.c;
  const Sizes z = sizes_of(c);
  for_rows(pieces, z, [&](std::int64_t r, Bell*) {
    for (std::int64_t k = 0; k < z.components; ++k) {
      const std::int64_t cell = r * z.components + k;
      const Bell bell = bell_of(c, cell);
      const float* own = is_single(c) ? nullptr : c.out + r * z.numbers;
      const kernels::BellSums sums =
          kernels::bell_sums(bell, own, g.d_out + r * z.numbers, z.numbers);
      if (g.d_in[0].cells)
        send(g.d_in[0], cell, sums.first * static_cast<double>(bell.inverse) * mean_slope(c, cell));
      if (g.d_in[1].cells) send(g.d_in[1], cell, sums.plain * weight_slope(c, cell));
      if (g.d_in[2].cells) send(g.d_in[2], cell, sums.second * spread_slope(c, cell));
    }
  });
}

}  // namespace

void run_numbers(Pieces& pieces, const Call& c) {
  return c.call.op == Op::kNumber ? number(pieces, c) : mixture_logits(pieces, c);
}

void run_numbers_backward(Pieces& pieces, const GradientCall& g) {
  if (g.c.call.op == Op::kMixtureLogits) mixture_backward(pieces, g);
}

}  // namespace headlight::cpu
