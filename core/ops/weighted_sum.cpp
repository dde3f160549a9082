// The weighted sum of values: what a query gathers from the keys it attends to.
#include <algorithm>

#include "core/ops/op.h"

namespace headlight {
namespace {

// A (batch, head, query, key), v (batch, kv_head, position, d_head) -> (batch, head, query, d_head)
// With fewer heads of values, head h reads v's head h / (head / kv_head).
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("weighted_sum", in, 2, 2);
  const auto& a = in[0].axes;
  const auto& v = in[1].axes;
  const bool fits = a.size() == 4 && v.size() == 4 && a[0].size == v[0].size &&
                    (v[1].size == 0 ? a[1].size == 0 : a[1].size % v[1].size == 0) &&
                    a[3].size == v[2].size;
  if (!fits) {
    shape_error(
        "weighted_sum", in,
        "weights (batch, head, query, key) and v (batch, head, key, d_head), whose heads divide "
        "the weights'");
  }
  return {a[0], a[1], a[2], v[3]};
}

// z[h, i, e] = Σ_j A[h, i, j] · v[h, j, e]
void forward(const OpArgs& args) {
  const auto& axes = args.out.axes;
  const std::int64_t share = heads_per_kv(args.in[0].axes, args.in[1].axes);
  const std::int64_t queries = share * axes[2].size, width = axes[3].size;
  const std::int64_t heads = args.in[1].axes[1].size, keys = args.in[0].axes[3].size;
  std::fill_n(args.result, args.out.size(), 0.0f);
  for (std::int64_t bh = 0; bh < axes[0].size * heads; ++bh) {
    add_product({args.in[0].data + bh * queries * keys, keys},
                {args.in[1].data + bh * keys * width, width}, args.result + bh * queries * width,
                width, queries, width, keys);
  }
}

// dA[h, i, j] += Σ_e dz[h, i, e] · v[h, j, e]
// dv[h, j, e] += Σ_i A[h, i, j] · dz[h, i, e]
void backward(const OpGradArgs& args) {
  const auto& axes = args.out.axes;
  const std::int64_t share = heads_per_kv(args.in[0].axes, args.in[1].axes);
  const std::int64_t queries = share * axes[2].size, width = axes[3].size;
  const std::int64_t heads = args.in[1].axes[1].size, keys = args.in[0].axes[3].size;
  float *da = args.d_in[0], *dv = args.d_in[1];
  for (std::int64_t bh = 0; bh < axes[0].size * heads; ++bh) {
    const float* dz = args.d_out + bh * queries * width;
    const std::int64_t a0 = bh * queries * keys, v0 = bh * keys * width;
    if (da)
      add_product({dz, width}, {args.in[1].data + v0, 1, width}, da + a0, keys, queries, keys,
                  width);
    if (dv)
      add_product({args.in[0].data + a0, 1, keys}, {dz, width}, dv + v0, width, keys, width,
                  queries);
  }
}

OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  OpExplanation result;
  result.formula = "Σ_j [[x0]][i, j] · [[x1]][j, d]";
  const std::int64_t kv = index[1] / heads_per_kv(args.in[0].axes, args.in[1].axes);
  for (std::int64_t j = 0; j < args.in[0].axes[3].size; ++j) {
    const std::vector<std::int64_t> a = {index[0], index[1], index[2], j};
    const std::vector<std::int64_t> v = {index[0], kv, j, index[3]};
    result.terms.push_back({{0, a}, args.in[0].at(a), args.in[1].at(v), {{1, v}}, ""});
  }
  return result;
}

OpExplanation explain_gradient(const OpGradArgs& args, int input,
                               std::span<const std::int64_t> index) {
  const std::int64_t share = heads_per_kv(args.in[0].axes, args.in[1].axes);
  OpExplanation result;
  if (input == 0) {
    result.formula = "Σ_d [[d]][i, d] · [[x1]][j, d]";
    for (std::int64_t e = 0; e < args.out.axes[3].size; ++e) {
      const std::vector<std::int64_t> v = {index[0], index[1] / share, index[3], e};
      result.terms.push_back(
          gradient_term(args, {index[0], index[1], index[2], e}, args.in[1].at(v), {{1, v}}));
    }
    return result;
  }
  result.formula =
      share > 1 ? "Σ_h Σ_i [[d]][h, i, d] · [[x0]][h, i, j]" : "Σ_i [[d]][i, d] · [[x0]][i, j]";
  // A value's head is felt by every head that shares it.
  for (std::int64_t h = index[1] * share; h < (index[1] + 1) * share; ++h) {
    for (std::int64_t i = 0; i < args.out.axes[2].size; ++i) {
      const std::vector<std::int64_t> a = {index[0], h, i, index[2]};
      result.terms.push_back(
          gradient_term(args, {index[0], h, i, index[3]}, args.in[0].at(a), {{0, a}}));
    }
  }
  return result;
}

std::vector<Pane> panes(const OpArgs& args, std::int64_t head) {
  Pane a = matrix_pane(args.in[0], 0, PaneRole::kLeft, head);
  a.column_follow = Follow::kFree;
  Pane v = matrix_pane(args.in[1], 1, PaneRole::kTop,
                       head / heads_per_kv(args.in[0].axes, args.in[1].axes));
  v.row_axis = args.in[0].axes[3].name;
  v.row_follow = Follow::kFree;
  return {a, v, matrix_pane(args.out, -1, PaneRole::kResult, head)};
}

std::string code(const CodeArgs& c, bool torch) {
  return c.out + " = " + c.in[0] + " @ " + shared_heads(c, 1, torch) + "  # " +
         code_shape(c.args.in[0]) + " @ " + code_shape(c.args.in[1]) + " -> " +
         code_shape(c.args.out) + "\n";
}

std::string numpy(const CodeArgs& c) { return code(c, false); }
std::string torch(const CodeArgs& c) { return code(c, true); }

}  // namespace

const OpInfo& weighted_sum_op() {
  static const OpInfo info{
      .op = Op::kWeightedSum,
      .id = "weighted_sum",
      .phrase = "weights times values, summed",
      .layout = Layout::kProduct,
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .panes = panes,
      .numpy = numpy,
      .torch = torch,
      .errors = ErrorClass::kProducts,
      .work = {.flops = 2, .per = WorkPer::kTerm},
      .trials = {"b h t s, b h s n", "b 2h t s, b h s n"},  // the second with shared heads
      .joins_heads = true,
      .row_by_row = true,
      .reads_all_rows = {false, true},
      .gradient_reads = {.inputs = {true, true}, .result = false},
  };
  return info;
}

}  // namespace headlight
