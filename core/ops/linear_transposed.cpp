// The product with the rows of a table: a head that is tied to the embedding scores each entry of
// the vocabulary by its own embedding (Press and Wolf 2017, "Using the output embedding to improve
// language models").
#include <algorithm>

#include "core/ops/op.h"

namespace headlight {
namespace {

// x (..., n), W (m, n), b (m, may be left out) -> (..., m)
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("linear_transposed", in, 2, 3);
  const bool fits = in[1].axes.size() == 2 && in[0].axes.back().size == in[1].axes[1].size &&
                    (in.size() < 3 || cell_count(in[2].axes) == in[1].axes[0].size);
  if (!fits) shape_error("linear_transposed", in, "x (..., n), W (m, n) and b (m)");
  std::vector<Axis> axes(in[0].axes.begin(), in[0].axes.end());
  axes.back() = in[1].axes[0];
  return axes;
}

// y[t, j] = Σ_i x[t, i] · W[j, i] + b[j], summed in double, in order of i
void forward(const OpArgs& args) {
  const auto [rows, inner] = as_rows(args.in[0].axes);
  const std::int64_t outer = args.in[1].axes[0].size;
  std::fill_n(args.result, rows * outer, 0.0f);
  for (std::int64_t r = 0; args.in.size() > 2 && r < rows; ++r)
    std::copy_n(args.in[2].data, outer, args.result + r * outer);
  add_product({args.in[0].data, inner}, {args.in[1].data, 1, inner}, args.result, outer, rows,
              outer, inner);
}

// dx[t, i] += Σ_j dy[t, j] · W[j, i]
// dW[j, i] += Σ_t dy[t, j] · x[t, i]
// db[j]    += Σ_t dy[t, j]
void backward(const OpGradArgs& args) {
  const auto [rows, inner] = as_rows(args.in[0].axes);
  const std::int64_t outer = args.in[1].axes[0].size;
  const float *x = args.in[0].data, *weight = args.in[1].data, *dy = args.d_out;
  if (float* dx = args.d_in[0])
    add_product({dy, outer}, {weight, inner}, dx, inner, rows, inner, outer);
  if (float* dw = args.d_in[1])
    add_product({dy, 1, outer}, {x, inner}, dw, inner, outer, inner, rows);
  float* db = args.in.size() > 2 ? args.d_in[2] : nullptr;
  for (std::int64_t j = 0; db && j < outer; ++j) {
    double sum = db[j];
    for (std::int64_t r = 0; r < rows; ++r) sum += dy[r * outer + j];
    db[j] = static_cast<float>(sum);
  }
}

OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  std::vector<std::int64_t> cell(index.begin(), index.end());
  const std::int64_t j = cell.back();
  OpExplanation result;
  const bool has_bias = args.in.size() > 2;
  result.formula = has_bias ? "Σ_f x[t, f] · W[j, f] + b[j]" : "Σ_f x[t, f] · W[j, f]";
  for (std::int64_t i = 0; i < args.in[1].axes[1].size; ++i) {
    cell.back() = i;
    const std::vector<std::int64_t> weight = {j, i};
    result.terms.push_back(
        {{0, cell}, args.in[0].at(cell), args.in[1].at(weight), {{1, weight}}, ""});
  }
  if (has_bias)
    result.terms.push_back({{2, {j}}, args.in[2].data[j], 1.0, {}, Message("explain.note.bias")});
  return result;
}

OpExplanation explain_gradient(const OpGradArgs& args, int input,
                               std::span<const std::int64_t> index) {
  if (input == 2) return column_gradient(args, index[0], "Σ_t dy[t, j]");
  OpExplanation result;
  if (input == 1) {
    result = column_gradient(args, index[0], "Σ_t dy[t, j] · x[t, f]");
    for (OpTerm& term : result.terms) {
      std::vector<std::int64_t> cell = term.cell.index;
      cell.back() = index[1];
      term.factor = args.in[0].at(cell);
      term.factor_cells = {{0, std::move(cell)}};
    }
    return result;
  }
  result.formula = "Σ_j dy[t, j] · W[j, f]";
  std::vector<std::int64_t> cell(index.begin(), index.end());
  for (std::int64_t j = 0; j < args.in[1].axes[0].size; ++j) {
    const std::vector<std::int64_t> weight = {j, index.back()};
    cell.back() = j;
    result.terms.push_back(gradient_term(args, cell, args.in[1].at(weight), {{1, weight}}));
  }
  return result;
}

// The table stands transposed above the result: its rows are the columns of Wᵀ.
std::vector<Pane> panes(const OpArgs& args, std::int64_t) {
  Pane left = matrix_pane(args.in[0], 0, PaneRole::kLeft, 0);
  left.column_follow = Follow::kFree;
  Pane top = matrix_pane(args.in[1], 1, PaneRole::kTop, 0);
  std::swap(top.rows, top.columns);
  std::swap(top.row_stride, top.column_stride);
  std::swap(top.row_axis, top.column_axis);
  top.transposed = true;
  top.row_follow = Follow::kFree;
  if (args.in.size() < 3) return {left, top, matrix_pane(args.out, -1, PaneRole::kResult, 0)};
  return {left, top, vector_pane(args.in[2], 2, PaneRole::kRowVector),
          matrix_pane(args.out, -1, PaneRole::kResult, 0)};
}

std::string code(const CodeArgs& c) {
  const std::string bias = c.in.size() > 2 ? " + " + c.in[2] : "";
  return c.out + " = " + c.in[0] + " @ " + c.in[1] + ".T" + bias + "  # " +
         code_shape(c.args.in[0]) + " @ " + code_shape(c.args.in[1]) + ".T -> " +
         code_shape(c.args.out) + "\n";
}

}  // namespace

const OpInfo& linear_transposed_op() {
  static const OpInfo info{
      .op = Op::kLinearTransposed,
      .id = "linear_transposed",
      .phrase = "a row times a row of the table",
      .layout = Layout::kProduct,
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .panes = panes,
      .numpy = code,
      .torch = code,
      .errors = ErrorClass::kProducts,
      .work = {.flops = 2, .per = WorkPer::kTerm},
      .trials = {"b t n, m n", "b t n, m n, m"},
      .row_by_row = true,
      .gradient_reads = {.inputs = {true, true, false}, .result = false},
  };
  return info;
}

}  // namespace headlight
