// The same product for every expert with a matrix of its own: of the rows that all share, or of the
// rows that each expert has made.
#include <algorithm>

#include "core/ops/op.h"

namespace headlight {
namespace {

// x (batch, position, n) or (batch, expert, position, n), W (expert, n, m), b (expert, m, may be
// left out) -> (batch, expert, position, m)
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("expert_linear", in, 2, 3);
  const auto &x = in[0].axes, &w = in[1].axes;
  const bool own = x.size() == 4;
  const bool fits = (own || x.size() == 3) && w.size() == 3 && x.back().size == w[1].size &&
                    (!own || x[1].size == w[0].size) &&
                    (in.size() < 3 || (in[2].axes.size() == 2 && in[2].axes[0].size == w[0].size &&
                                       in[2].axes[1].size == w[2].size));
  if (!fits) {
    shape_error("expert_linear", in,
                "x (batch, position, n) or (batch, expert, position, n), W (expert, n, m) and b "
                "(expert, m)");
  }
  const std::string& word = w[2].name;
  return {x[0],
          {"expert", w[0].size},
          x[x.size() - 2],
          {word == "d_model" ? "feature" : word, w[2].size}};
}

struct Sizes {
  std::int64_t batch, experts, positions, inner, outer;
  bool own;  // each expert has rows of its own

  std::int64_t rows_of(std::int64_t b, std::int64_t e) const {
    return (own ? b * experts + e : b) * positions * inner;
  }
};
Sizes sizes_of(std::span<const TensorView> in) {
  const auto &x = in[0].axes, &w = in[1].axes;
  return {x[0].size, w[0].size, x[x.size() - 2].size, w[1].size, w[2].size, x.size() == 4};
}

std::vector<std::int64_t> row_index(const Sizes& z, std::span<const std::int64_t> out,
                                    std::int64_t i) {
  if (z.own) return {out[0], out[1], out[2], i};
  return {out[0], out[2], i};
}

// y[e, t, j] = Σ_i x[e, t, i] · W[e, i, j] + b[e, j]
void forward(const OpArgs& args) {
  const Sizes z = sizes_of(args.in);
  for (std::int64_t b = 0; b < z.batch; ++b) {
    for (std::int64_t e = 0; e < z.experts; ++e) {
      float* y = args.result + (b * z.experts + e) * z.positions * z.outer;
      for (std::int64_t t = 0; t < z.positions; ++t) {
        if (args.in.size() > 2)
          std::copy_n(args.in[2].data + e * z.outer, z.outer, y + t * z.outer);
        else
          std::fill_n(y + t * z.outer, z.outer, 0.0f);
      }
      add_product({args.in[0].data + z.rows_of(b, e), z.inner},
                  {args.in[1].data + e * z.inner * z.outer, z.outer}, y, z.outer, z.positions,
                  z.outer, z.inner);
    }
  }
}

// dx[e, t, i] += Σ_j dy[e, t, j] · W[e, i, j]; of rows that all share also Σ_e
// dW[e, i, j] += Σ_t x[e, t, i] · dy[e, t, j]
// db[e, j]    += Σ_t dy[e, t, j]
void backward(const OpGradArgs& args) {
  const Sizes z = sizes_of(args.in);
  for (std::int64_t b = 0; b < z.batch; ++b) {
    for (std::int64_t e = 0; e < z.experts; ++e) {
      const float* dy = args.d_out + (b * z.experts + e) * z.positions * z.outer;
      const std::int64_t x0 = z.rows_of(b, e), w0 = e * z.inner * z.outer;
      if (float* dx = args.d_in[0])
        add_product({dy, z.outer}, {args.in[1].data + w0, 1, z.outer}, dx + x0, z.inner,
                    z.positions, z.inner, z.outer);
      if (float* dw = args.d_in[1])
        add_product({args.in[0].data + x0, 1, z.inner}, {dy, z.outer}, dw + w0, z.outer, z.inner,
                    z.outer, z.positions);
      if (args.in.size() < 3 || !args.d_in[2]) continue;
      for (std::int64_t j = 0; j < z.outer; ++j) {
        float& db = args.d_in[2][e * z.outer + j];
        double sum = db;
        for (std::int64_t t = 0; t < z.positions; ++t) sum += dy[t * z.outer + j];
        db = static_cast<float>(sum);
      }
    }
  }
}

OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const Sizes z = sizes_of(args.in);
  const std::int64_t e = index[1], j = index[3];
  OpExplanation result;
  result.formula = z.own ? "Σ_i x[e, t, i] · W[e, i, j]" : "Σ_i x[t, i] · W[e, i, j]";
  if (args.in.size() > 2) result.formula += " + b[e, j]";
  result.quantities = {{"expert", static_cast<double>(e)}};
  for (std::int64_t i = 0; i < z.inner; ++i) {
    const std::vector<std::int64_t> cell = row_index(z, index, i), weight = {e, i, j};
    result.terms.push_back(
        {{0, cell}, args.in[0].at(cell), args.in[1].at(weight), {{1, weight}}, ""});
  }
  if (args.in.size() > 2) {
    const std::vector<std::int64_t> bias = {e, j};
    result.terms.push_back({{2, bias}, args.in[2].at(bias), 1.0, {}, Message("explain.note.bias")});
  }
  return result;
}

OpExplanation explain_rows_gradient(const OpGradArgs& args, std::span<const std::int64_t> index) {
  const Sizes z = sizes_of(args.in);
  OpExplanation result;
  result.formula = z.own ? "Σ_j dy[e, t, j] · W[e, i, j]" : "Σ_e Σ_j dy[e, t, j] · W[e, i, j]";
  const std::int64_t t = z.own ? index[2] : index[1];
  for (std::int64_t e = 0; e < z.experts; ++e) {
    if (z.own && e != index[1]) continue;
    for (std::int64_t j = 0; j < z.outer; ++j) {
      const std::vector<std::int64_t> weight = {e, index.back(), j};
      result.terms.push_back(
          gradient_term(args, {index[0], e, t, j}, args.in[1].at(weight), {{1, weight}}));
    }
  }
  return result;
}

OpExplanation explain_gradient(const OpGradArgs& args, int input,
                               std::span<const std::int64_t> index) {
  if (input == 0) return explain_rows_gradient(args, index);
  const Sizes z = sizes_of(args.in);
  const std::int64_t e = index[0], j = index.back();
  OpExplanation result;
  result.formula = input == 2 ? "Σ_t dy[e, t, j]" : "Σ_t dy[e, t, j] · x[e, t, i]";
  if (input == 1 && !z.own) result.formula = "Σ_t dy[e, t, j] · x[t, i]";
  result.quantities = {{"expert", static_cast<double>(e)}};
  for (std::int64_t b = 0; b < z.batch; ++b) {
    for (std::int64_t t = 0; t < z.positions; ++t) {
      const std::vector<std::int64_t> out = {b, e, t, j};
      if (input == 2) {
        result.terms.push_back(gradient_term(args, out));
        continue;
      }
      const std::vector<std::int64_t> cell = row_index(z, out, index[1]);
      result.terms.push_back(gradient_term(args, out, args.in[0].at(cell), {{0, cell}}));
    }
  }
  return result;
}

// The matrix of one expert, of a tensor (…, expert, rows, columns).
Pane pane_of(const TensorView& t, int input, PaneRole role, std::int64_t expert) {
  Pane pane = matrix_pane(t, input, role, 0);
  pane.offset = expert * pane.rows * pane.columns;
  pane.head_columns = pane.columns;
  pane.first_head = expert;
  return pane;
}

// Of one expert: its rows, its matrix above, its results.
std::vector<Pane> panes(const OpArgs& args, std::int64_t expert) {
  const Sizes z = sizes_of(args.in);
  expert = std::min(expert, z.experts - 1);
  Pane left = z.own ? pane_of(args.in[0], 0, PaneRole::kLeft, expert)
                    : matrix_pane(args.in[0], 0, PaneRole::kLeft, 0);
  left.column_follow = Follow::kFree;
  Pane top = pane_of(args.in[1], 1, PaneRole::kTop, expert);
  top.row_axis = args.in[0].axes.back().name;
  top.row_follow = Follow::kFree;
  std::vector<Pane> result = {left, top};
  if (args.in.size() > 2) {
    Pane bias = vector_pane(args.in[2], 2, PaneRole::kRowVector);
    bias.offset = expert * z.outer;
    bias.head_columns = bias.columns;
    bias.first_head = expert;
    result.push_back(bias);
  }
  result.push_back(pane_of(args.out, -1, PaneRole::kResult, expert));
  return result;
}

// Each expert's matrix meets its rows: the first axis is that of the experts.
std::string code(const CodeArgs& c) {
  const std::string bias = c.in.size() > 2 ? " + " + c.in[2] + "[:, None]" : "";
  return c.out + " = " + c.in[0] + " @ " + c.in[1] + bias + "  # " + code_shape(c.args.in[0]) +
         " @ " + code_shape(c.args.in[1]) + " -> " + code_shape(c.args.out) + "\n";
}

}  // namespace

const OpInfo& expert_linear_op() {
  static const OpInfo info{
      .op = Op::kExpertLinear,
      .id = "expert_linear",
      .phrase = "a row times a column of the expert's weights",
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
      .trials = {"b t n, h n m, h m", "b h t n, h n m"},
      .gradient_reads = {.inputs = {true, true}, .result = false},
  };
  return info;
}

}  // namespace headlight
