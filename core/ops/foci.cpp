// Foci (Lin et al. 2017, "A structured self-attentive sentence embedding"): how well each token
// suits each of a few learned directions, and what it costs when two foci choose the same tokens.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/number_text.h"
#include "core/ops/op.h"

namespace headlight {
namespace {

// u (batch, position, hidden), W (hidden, focus) -> (batch, 1, focus, key)
std::vector<Axis> scores_shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("focus_scores", in, 2, 2);
  const auto &u = in[0].axes, &w = in[1].axes;
  if (u.size() != 3 || w.size() != 2 || u[2].size != w[0].size)
    shape_error("focus_scores", in, "u (batch, position, hidden) and W (hidden, focus)");
  return {u[0], {"head", 1}, w[1], {key_word(u[1].name), u[1].size}};
}

struct Sizes {
  std::int64_t batch, positions, hidden, foci;
};
Sizes sizes_of(std::span<const TensorView> in) {
  const auto& u = in[0].axes;
  return {u[0].size, u[1].size, u[2].size, in[1].axes[1].size};
}

// S[f, t] = Σ_k W[k, f] · u[t, k]
void scores_forward(const OpArgs& args) {
  const Sizes z = sizes_of(args.in);
  std::fill_n(args.result, args.out.size(), 0.0f);
  for (std::int64_t b = 0; b < z.batch; ++b) {
    add_product({args.in[1].data, 1, z.foci},
                {args.in[0].data + b * z.positions * z.hidden, 1, z.hidden},
                args.result + b * z.foci * z.positions, z.positions, z.foci, z.positions, z.hidden);
  }
}

// du[t, k] += Σ_f dS[f, t] · W[k, f]
// dW[k, f] += Σ_t u[t, k] · dS[f, t]
void scores_backward(const OpGradArgs& args) {
  const Sizes z = sizes_of(args.in);
  for (std::int64_t b = 0; b < z.batch; ++b) {
    const float* d = args.d_out + b * z.foci * z.positions;
    const std::int64_t u0 = b * z.positions * z.hidden;
    if (float* du = args.d_in[0])
      add_product({d, 1, z.positions}, {args.in[1].data, 1, z.foci}, du + u0, z.hidden, z.positions,
                  z.hidden, z.foci);
    if (float* dw = args.d_in[1])
      add_product({args.in[0].data + u0, 1, z.hidden}, {d, 1, z.positions}, dw, z.foci, z.hidden,
                  z.foci, z.positions);
  }
}

OpExplanation explain_scores(const OpArgs& args, std::span<const std::int64_t> index) {
  OpExplanation result;
  result.formula = "Σ_k [[x1]][k, f] · [[x0]][t, k]";
  for (std::int64_t k = 0; k < args.in[0].axes[2].size; ++k) {
    const std::vector<std::int64_t> cell = {index[0], index[3], k}, weight = {k, index[2]};
    result.terms.push_back(
        {{0, cell}, args.in[0].at(cell), args.in[1].at(weight), {{1, weight}}, ""});
  }
  return result;
}

OpExplanation explain_scores_gradient(const OpGradArgs& args, int input,
                                      std::span<const std::int64_t> index) {
  const Sizes z = sizes_of(args.in);
  OpExplanation result;
  if (input == 1) {
    result.formula = "Σ_t [[x0]][t, k] · [[d]][f, t]";
    for (std::int64_t b = 0; b < z.batch; ++b) {
      for (std::int64_t t = 0; t < z.positions; ++t) {
        const std::vector<std::int64_t> cell = {b, t, index[0]};
        result.terms.push_back(
            gradient_term(args, {b, 0, index[1], t}, args.in[0].at(cell), {{0, cell}}));
      }
    }
    return result;
  }
  result.formula = "Σ_f [[d]][f, t] · [[x1]][k, f]";
  for (std::int64_t f = 0; f < z.foci; ++f) {
    const std::vector<std::int64_t> weight = {index[2], f};
    result.terms.push_back(
        gradient_term(args, {index[0], 0, f, index[1]}, args.in[1].at(weight), {{1, weight}}));
  }
  return result;
}

void turn(Pane& pane) {
  std::swap(pane.rows, pane.columns);
  std::swap(pane.row_stride, pane.column_stride);
  std::swap(pane.row_axis, pane.column_axis);
  pane.transposed = true;
}

// Wᵀ beside the result, uᵀ above it: where a focus's row meets a token's column stands its score.
std::vector<Pane> scores_panes(const OpArgs& args, std::int64_t) {
  Pane left = matrix_pane(args.in[1], 1, PaneRole::kLeft, 0);
  turn(left);
  left.column_follow = Follow::kFree;
  Pane top = matrix_pane(args.in[0], 0, PaneRole::kTop, 0);
  turn(top);
  top.row_follow = Follow::kFree;
  top.column_axis = args.out.axes[3].name;
  return {left, top, matrix_pane(args.out, -1, PaneRole::kResult, 0)};
}

std::string scores_code(const CodeArgs& c) {
  return c.out + " = (" + c.in[0] + " @ " + c.in[1] + ").T[None]  # " + code_shape(c.args.in[0]) +
         " @ " + code_shape(c.args.in[1]) + " -> " + code_shape(c.args.out) + "\n";
}

// G (batch, head, focus, focus) -> (batch)
std::vector<Axis> penalty_shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("foci_penalty", in, 1, 1);
  const auto& g = in[0].axes;
  if (g.size() != 4 || g[2].size != g[3].size)
    shape_error("foci_penalty", in, "G (batch, head, focus, focus)");
  return {g[0]};
}

// How far a cell of G is from the identity's.
double distance(const float* g, std::int64_t cell, std::int64_t foci) {
  return g[cell] - (cell % (foci * foci) % (foci + 1) == 0 ? 1.0 : 0.0);
}

// y = C · Σ_ij (G[i, j] − [i = j])²
void penalty_forward(const OpArgs& args) {
  const auto& g = args.in[0].axes;
  const std::int64_t cells = g[0].size == 0 ? 0 : args.in[0].size() / g[0].size;
  for (std::int64_t b = 0; b < g[0].size; ++b) {
    double sum = 0;
    for (std::int64_t i = 0; i < cells; ++i) {
      const double d = distance(args.in[0].data + b * cells, i, g[3].size);
      sum += d * d;
    }
    args.result[b] = static_cast<float>(args.params.factor * sum);
  }
}

// Foci that are far apart have a G near the identity: what is left has the errors of the whole.
// That of Σ d² is 2 Σ d δ, at most 2 |d| |δ|.
double penalty_growth(const OpArgs& args) {
  double whole = 0, left = 0;
  for (std::int64_t i = 0; i < args.in[0].size(); ++i) {
    whole += static_cast<double>(args.in[0].data[i]) * args.in[0].data[i];
    left += std::pow(distance(args.in[0].data, i, args.in[0].axes[3].size), 2);
  }
  return left > 0 ? 2 * std::sqrt(whole / left) : std::numeric_limits<double>::infinity();
}

// dG[i, j] += dy · 2 C (G[i, j] − [i = j])
void penalty_backward(const OpGradArgs& args) {
  const auto& g = args.in[0].axes;
  const std::int64_t cells = g[0].size == 0 ? 0 : args.in[0].size() / g[0].size;
  for (std::int64_t b = 0; args.d_in[0] && b < g[0].size; ++b) {
    float* d = args.d_in[0] + b * cells;
    for (std::int64_t i = 0; i < cells; ++i) {
      const double slope =
          2.0 * args.params.factor * distance(args.in[0].data + b * cells, i, g[3].size);
      d[i] = static_cast<float>(d[i] + args.d_out[b] * slope);
    }
  }
}

OpExplanation explain_penalty(const OpArgs& args, std::span<const std::int64_t> index) {
  const auto& g = args.in[0].axes;
  const double factor = args.params.factor;
  OpExplanation result;
  result.formula = "C · Σ_ij (G[i, j] − [i = j])²";
  result.quantities = {{"C", factor}};
  double rest = 0;  // of −2 C G[i, i] + C: what stands with no cell
  for (std::int64_t h = 0; h < g[1].size; ++h) {
    for (std::int64_t i = 0; i < g[2].size; ++i) {
      for (std::int64_t j = 0; j < g[3].size; ++j) {
        const std::vector<std::int64_t> cell = {index[0], h, i, j};
        const double value = args.in[0].at(cell), aim = i == j ? 1 : 0;
        // C (G − aim)² = G · C (G − 2 aim) + C aim²
        OpTerm term{{0, cell}, value, factor * (value - 2 * aim), {}, ""};
        term.note = i == j ? TermNote(Message("explain.note.own_focus")) : "C · G";
        result.terms.push_back(std::move(term));
        rest += factor * aim;
      }
    }
  }
  result.terms.push_back({{}, rest, 1.0, {}, Message("explain.note.each_focus"), {}});
  return result;
}

OpExplanation explain_penalty_gradient(const OpGradArgs& args, int,
                                       std::span<const std::int64_t> index) {
  const std::vector<std::int64_t> cell(index.begin(), index.end());
  const double factor = args.params.factor, aim = index[2] == index[3] ? 1 : 0;
  const double value = args.in[0].at(cell);
  OpTerm term = gradient_term(args, {index[0]}, 2 * factor * (value - aim), {{0, cell}},
                              "2 C · (G − [i = j])");
  OpExplanation result{{}, {{"C", factor}}, "dy · 2 C · (G[i, j] − [i = j])"};
  result.written = {math(term.value), math(" × 2 × ", " \\times 2 \\times "),
                    math(factor),     math(" × (", " \\times ("),
                    math(value),      math(" − ", " - "),
                    math(aim),        math(")", ")")};
  result.terms.push_back(std::move(term));
  return result;
}

std::vector<Pane> penalty_panes(const OpArgs& args, std::int64_t head) {
  Pane g = matrix_pane(args.in[0], 0, PaneRole::kOperand, head);
  g.row_follow = g.column_follow = Follow::kFree;  // every cell has a part in the one that results
  return {g, matrix_pane(args.out, -1, PaneRole::kResult, 0)};
}

std::string penalty_code(const CodeArgs& c, const std::string& identity) {
  return c.out + " = " + exact_number(c.args.params.factor) + " * ((" + c.in[0] + " - " + identity +
         "(" + code_size(c.args.in[0], 1) + "))**2).sum()\n";
}

}  // namespace

const OpInfo& focus_scores_op() {
  static const OpInfo info{
      .op = Op::kFocusScores,
      .id = "focus_scores",
      .phrase = "how well each token suits each focus",
      .layout = Layout::kProduct,
      .shape = scores_shape,
      .forward = scores_forward,
      .backward = scores_backward,
      .explain = explain_scores,
      .explain_gradient = explain_scores_gradient,
      .panes = scores_panes,
      .numpy = scores_code,
      .torch = scores_code,
      .errors = ErrorClass::kProducts,
      .work = {.flops = 2, .per = WorkPer::kTerm},
      .trials = {"b t n, n m"},
      .gradient_reads = {.inputs = {true, true}, .result = false},
  };
  return info;
}

const OpInfo& foci_penalty_op() {
  static const OpInfo info{
      .op = Op::kFociPenalty,
      .id = "foci_penalty",
      .phrase = "how far the foci are from being apart",
      .shape = penalty_shape,
      .forward = penalty_forward,
      .backward = penalty_backward,
      .explain = explain_penalty,
      .explain_gradient = explain_penalty_gradient,
      .panes = penalty_panes,
      .numpy = [](const CodeArgs& c) { return penalty_code(c, "np.eye"); },
      .torch = [](const CodeArgs& c) { return penalty_code(c, "torch.eye"); },
      .errors = ErrorClass::kRows,
      .error_growth = penalty_growth,
      .work = {.flops = 3, .per = WorkPer::kInputCell},
      .trials = {"b 1 m m"},
      .gradient_reads = {.inputs = {true}, .result = false},
  };
  return info;
}

}  // namespace headlight
