// Softmax over the last axis: scores -> weights, logits -> probabilities.
#include <cmath>
#include <limits>

#include "core/ops/op.h"

namespace headlight {
namespace {

// x -> the axes of x
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("softmax", in, 1, 1);
  return {in[0].axes.begin(), in[0].axes.end()};
}

constexpr double kForbidden = -std::numeric_limits<double>::infinity();

struct RowParts {
  double max = kForbidden;
  double sum = 0;
};

RowParts parts(const float* row, std::int64_t n) {
  RowParts result;
  for (std::int64_t j = 0; j < n; ++j) {
    const double x = row[j];
    if (x > result.max || std::isnan(x)) result.max = x;  // a NaN stays: nothing is larger
  }
  if (result.max == kForbidden) return result;
  for (std::int64_t j = 0; j < n; ++j) result.sum += std::exp(row[j] - result.max);
  return result;
}

// p[j] = exp(x[j] − max) / Σ_k exp(x[k] − max). A row is a distribution over the allowed keys; a
// row with no allowed key (all −∞) is all zeros, so no NaN leaves this function because of a mask.
void forward(const OpArgs& args) {
  const auto [rows, n] = as_rows(args.out.axes);
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* x = args.in[0].data + r * n;
    const RowParts row = parts(x, n);
    const bool empty = row.max == kForbidden;
    for (std::int64_t j = 0; j < n; ++j) {
      args.result[r * n + j] =
          empty ? 0.0f : static_cast<float>(std::exp(x[j] - row.max) / row.sum);
    }
  }
}

// Softmax is not a sum of its inputs. The cell's own score carries the whole value, written as
// score × (weight / score); the rest of the row stands with factor 0 because it acts only through
// the denominator, which `quantities` gives. So the terms still add up, and each can be asked in
// turn.
OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t n = args.out.axes.back().size;
  std::vector<std::int64_t> cell(index.begin(), index.end());
  const std::int64_t j = cell.back();
  const float* x = args.in[0].data + flat_index(args.out.axes, cell) - j;
  const RowParts row = parts(x, n);
  OpExplanation result;
  result.formula = "exp(x[j] − max) / Σ_k exp(x[k] − max)";
  if (row.max == kForbidden) {
    result.formula += "; no key is allowed, so the row is zero";
    return result;
  }
  const double own = std::exp(x[j] - row.max);
  result.quantities = {{"row maximum", row.max}, {"exp(x − max)", own}, {"row sum", row.sum}};
  for (std::int64_t k = 0; k < n; ++k) {
    if (x[k] == kForbidden) continue;  // a forbidden key adds nothing
    cell.back() = k;
    const double e = std::exp(x[k] - row.max);
    OpTerm term{{0, cell}, x[k], 0.0, {}, "", e};
    term.note = k == j ? "exp(x − max) / row sum, written as a factor" : "only through the row sum";
    if (k == j && x[k] != 0.0f) term.factor = own / row.sum / x[k];
    result.terms.push_back(std::move(term));
  }
  if (x[j] == 0.0f) {  // no factor turns 0 into a weight: say it as a constant
    result.terms.push_back({{}, own / row.sum, 1.0, {}, "exp(0 − max) / row sum", {}});
  }
  return result;
}

std::vector<Pane> panes(const OpArgs& args, std::int64_t head) {
  Pane x = matrix_pane(args.in[0], 0, PaneRole::kOperand, head);
  x.column_follow = Follow::kFree;  // the whole row acts, through its sum
  return {x, matrix_pane(args.out, -1, PaneRole::kResult, head)};
}

}  // namespace

const OpInfo& softmax_op() {
  static const OpInfo info{Op::kSoftmax, "softmax", "softmax over the row",
                           Layout::kRow, "",        shape,
                           forward,      explain,   panes};
  return info;
}

}  // namespace headlight
