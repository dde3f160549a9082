// The gate of a mixture of experts: which experts are heard where only the best are (Shazeer et al.
// 2017), and what it costs when most tokens go to a few of them (Fedus et al. 2021).
#include <algorithm>
#include <cmath>

#include "core/base/number_text.h"
#include "core/ops/op.h"

namespace headlight {
namespace {

// Is expert e among the `best` largest weights of the row? Of equal ones the first is better.
bool is_heard(const float* g, std::int64_t experts, std::int64_t e, std::int64_t best) {
  std::int64_t better = 0;
  for (std::int64_t j = 0; j < experts; ++j) better += g[j] > g[e] || (g[j] == g[e] && j < e);
  return better < best;
}

// How many of them are heard; 0 asks for all.
std::int64_t heard_of(const OpParams& params, std::int64_t experts) {
  return params.best <= 0 ? experts : std::min(params.best, experts);
}

// ---- the best ----

// G (batch, position, expert) -> the same
std::vector<Axis> best_shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("top_experts", in, 1, 1);
  if (in[0].axes.size() != 3) shape_error("top_experts", in, "G (batch, position, expert)");
  return {in[0].axes.begin(), in[0].axes.end()};
}

// What the weights are divided by: their sum, so that they add up to 1 again. A single expert keeps
// its own weight: of a 1 that is always 1 the gate would learn nothing (Fedus et al. 2021).
double divisor(const float* g, std::int64_t experts, std::int64_t best) {
  if (best == 1) return 1;
  double sum = 0;
  for (std::int64_t e = 0; e < experts; ++e) sum += is_heard(g, experts, e, best) ? g[e] : 0.0;
  return sum;
}

// W[t, e] = G[t, e] / Σ_j G[t, j] over the best j, where e is one of them, else 0. Of a single best
// one, G[t, e] itself. A row whose best add up to 0 is zeros.
void best_forward(const OpArgs& args) {
  const auto [rows, n] = as_rows(args.out.axes);
  const std::int64_t best = heard_of(args.params, n);
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* g = args.in[0].data + r * n;
    const double sum = divisor(g, n, best);
    for (std::int64_t e = 0; e < n; ++e) {
      const bool heard = is_heard(g, n, e, best) && sum != 0;
      args.result[r * n + e] = heard ? static_cast<float>(g[e] / sum) : 0.0f;
    }
  }
}

// dG[t, e] += (dW[t, e] − Σ_j W[t, j] · dW[t, j]) / Σ_j G[t, j], for the best e and over the best
// j; of a single best one dW[t, e]. Which are the best does not change for a small change of G.
void best_backward(const OpGradArgs& args) {
  const auto [rows, n] = as_rows(args.out.axes);
  const std::int64_t best = heard_of(args.params, n);
  for (std::int64_t r = 0; args.d_in[0] && r < rows; ++r) {
    const float *g = args.in[0].data + r * n, *w = args.out.data + r * n, *d = args.d_out + r * n;
    const double sum = divisor(g, n, best);
    double mean = 0;
    for (std::int64_t j = 0; best > 1 && j < n; ++j) mean += static_cast<double>(w[j]) * d[j];
    for (std::int64_t e = 0; e < n; ++e) {
      if (!is_heard(g, n, e, best) || sum == 0) continue;
      float& dg = args.d_in[0][r * n + e];
      dg = static_cast<float>(dg + (d[e] - mean) / sum);
    }
  }
}

OpExplanation explain_best(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t n = args.out.axes[2].size, best = heard_of(args.params, n), e = index[2];
  const std::vector<std::int64_t> cell(index.begin(), index.end());
  const float* g = args.in[0].data + flat_index(args.out.axes, cell) - e;
  const double sum = divisor(g, n, best);
  OpTerm term{{0, cell}, g[e], 0.0, {}, Message("explain.note.not_best")};
  OpExplanation result{{}, {}, "G[t, e] / Σ_j G[t, j]"};
  if (is_heard(g, n, e, best) && sum != 0) {
    term.factor = 1 / sum;
    term.note = best == 1 ? TermNote(Message("explain.note.only_best")) : "1 / Σ_j G[t, j]";
    if (best == 1) result.formula = "G[t, e]";
    if (best > 1) {
      result.quantities = {{"sum of the best", sum}};
      result.written = {math(g[e]), math(" / ", " / "), math(sum)};
    }
  }
  result.terms.push_back(std::move(term));
  return result;
}

OpExplanation explain_best_gradient(const OpGradArgs& args, int,
                                    std::span<const std::int64_t> index) {
  const std::int64_t n = args.out.axes[2].size, best = heard_of(args.params, n), e = index[2];
  const std::vector<std::int64_t> own(index.begin(), index.end());
  const std::int64_t begin = flat_index(args.out.axes, own) - e;
  const float *g = args.in[0].data + begin, *w = args.out.data + begin;
  const double sum = divisor(g, n, best);
  const std::string formula =
      best == 1 ? "dW[t, e]" : "(dW[t, e] − Σ_j W[t, j] · dW[t, j]) / Σ_j G[t, j]";
  if (!is_heard(g, n, e, best) || sum == 0) return zero_gradient(formula, "explain.not_best");
  OpExplanation result;
  result.formula = formula;
  if (best == 1) {
    result.terms.push_back(gradient_term(args, own));
    return result;
  }
  result.quantities = {{"sum of the best", sum}};
  for (std::int64_t j = 0; j < n; ++j) {
    if (!is_heard(g, n, j, best)) continue;
    const std::vector<std::int64_t> other = {own[0], own[1], j};
    result.terms.push_back(gradient_term(args, other, ((j == e ? 1.0 : 0.0) - w[j]) / sum,
                                         {{kResultCell, other}},
                                         j == e ? "(1 − W[j]) / sum" : "−W[j] / sum"));
  }
  return result;
}

std::vector<Pane> best_panes(const OpArgs& args, std::int64_t) {
  return {matrix_pane(args.in[0], 0, PaneRole::kOperand, 0),
          matrix_pane(args.out, -1, PaneRole::kResult, 0)};
}

std::string best_numpy(const CodeArgs& c) {
  const std::string &g = c.in[0], &w = c.out;
  const std::int64_t best = heard_of(c.args.params, c.args.out.axes.back().size);
  const std::string k = std::to_string(best);
  return "best = np.argsort(-" + g + ", axis=-1, kind=\"stable\")[:, :" + k + "]\n" + w +
         " = np.zeros_like(" + g + ")\n" + "np.put_along_axis(" + w +
         ", best, np.take_along_axis(" + g + ", best, -1), -1)  # " + code_shape(c.args.out) +
         "\n" + (best == 1 ? "" : w + " = " + w + " / " + w + ".sum(axis=-1, keepdims=True)\n");
}
std::string best_torch(const CodeArgs& c) {
  const std::int64_t best = heard_of(c.args.params, c.args.out.axes.back().size);
  return "values, best = " + c.in[0] + ".topk(" + std::to_string(best) + ")\n" + c.out +
         " = torch.zeros_like(" + c.in[0] + ").scatter(-1, best, values" +
         (best == 1 ? "" : " / values.sum(-1, keepdim=True)") + ")  # " + code_shape(c.args.out) +
         "\n";
}

// ---- the load ----

// G (batch, position, expert), present (batch, position), targets (batch, …) -> the axes of the
// targets
std::vector<Axis> load_shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("load_balance", in, 3, 3);
  const auto &g = in[0].axes, &m = in[1].axes, &y = in[2].axes;
  const bool fits = g.size() == 3 && m.size() == 2 && (y.size() == 1 || y.size() == 2) &&
                    g[0].size == m[0].size && g[1].size == m[1].size && g[0].size == y[0].size;
  if (!fits) {
    shape_error("load_balance", in,
                "G (batch, position, expert), present (batch, position) and targets (batch) or "
                "(batch, position)");
  }
  return {y.begin(), y.end()};
}

struct Load {
  double tokens = 0;
  std::vector<double> share, mean;  // by expert: of the choices, and of the weights
};
// Of the tokens of one batch item that are no padding.
Load load_of(std::span<const TensorView> in, const OpParams& params, std::int64_t b) {
  const std::int64_t positions = in[0].axes[1].size, n = in[0].axes[2].size;
  const std::int64_t best = params.best <= 0 ? 1 : std::min(params.best, n);
  Load load{0, std::vector<double>(static_cast<std::size_t>(n)),
            std::vector<double>(static_cast<std::size_t>(n))};
  for (std::int64_t t = 0; t < positions; ++t) {
    if (in[1].data[b * positions + t] == 0) continue;
    ++load.tokens;
    const float* g = in[0].data + (b * positions + t) * n;
    for (std::int64_t e = 0; e < n; ++e) {
      load.share[static_cast<std::size_t>(e)] += is_heard(g, n, e, best);
      load.mean[static_cast<std::size_t>(e)] += g[e];
    }
  }
  for (std::int64_t e = 0; load.tokens > 0 && e < n; ++e) {
    load.share[static_cast<std::size_t>(e)] /= static_cast<double>(best) * load.tokens;
    load.mean[static_cast<std::size_t>(e)] /= load.tokens;
  }
  return load;
}

std::int64_t targets_of_row(const TensorView& targets) {
  return targets.axes.size() == 1 ? 1 : targets.axes[1].size;
}

// y[b, t] = C · E · Σ_e f[b, e] · P[b, e] where target t counts, else 0: f the share of the tokens'
// choices that fell on expert e, P its mean weight. It is C when all are loaded alike, and at most
// C · E. The mean of all losses that count so holds it once for each of them.
void load_forward(const OpArgs& args) {
  const std::int64_t per_row = targets_of_row(args.in[2]), n = args.in[0].axes[2].size;
  for (std::int64_t b = 0; b < args.in[0].axes[0].size; ++b) {
    const Load load = load_of(args.in, args.params, b);
    double sum = 0;
    for (std::int64_t e = 0; e < n; ++e)
      sum += load.share[static_cast<std::size_t>(e)] * load.mean[static_cast<std::size_t>(e)];
    const double cost = args.params.factor * static_cast<double>(n) * sum;
    for (std::int64_t i = b * per_row; i < (b + 1) * per_row; ++i)
      args.result[i] = args.in[2].data[i] >= 0 ? static_cast<float>(cost) : 0.0f;
  }
}

// dG[t, e] += Σ dy · C · E · f[e] / n, over the targets that count, for tokens that are no padding.
// f is made of choices, which do not change for a small change of G.
void load_backward(const OpGradArgs& args) {
  const std::int64_t per_row = targets_of_row(args.in[2]);
  const std::int64_t positions = args.in[0].axes[1].size, n = args.in[0].axes[2].size;
  for (std::int64_t b = 0; args.d_in[0] && b < args.in[0].axes[0].size; ++b) {
    double d = 0;
    for (std::int64_t i = b * per_row; i < (b + 1) * per_row; ++i)
      d += args.in[2].data[i] >= 0 ? args.d_out[i] : 0.0;
    const Load load = load_of(args.in, args.params, b);
    for (std::int64_t i = 0; i < positions * n; ++i) {
      if (args.in[1].data[b * positions + i / n] == 0) continue;
      float& dg = args.d_in[0][b * positions * n + i];
      dg = static_cast<float>(dg + d * args.params.factor * static_cast<double>(n) *
                                       load.share[static_cast<std::size_t>(i % n)] / load.tokens);
    }
  }
}

OpExplanation explain_load(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t positions = args.in[0].axes[1].size, n = args.in[0].axes[2].size;
  OpExplanation result;
  result.formula = "C · E · Σ_e f[e] · P[e]";
  if (args.in[2].data[flat_index(args.out.axes, index)] < 0) {
    result.why = "explain.no_target";
    result.written = {math("0", "0")};
    return result;
  }
  const Load load = load_of(args.in, args.params, index[0]);
  const double scale = args.params.factor * static_cast<double>(n);
  result.quantities = {
      {"C", args.params.factor}, {"experts", static_cast<double>(n)}, {"tokens", load.tokens}};
  for (std::int64_t t = 0; t < positions; ++t) {
    const std::vector<std::int64_t> here = {index[0], t};
    for (std::int64_t e = 0; e < n; ++e) {
      const std::vector<std::int64_t> cell = {index[0], t, e};
      OpTerm term{{0, cell}, args.in[0].at(cell), 0.0, {}, Message("explain.note.padding")};
      if (args.in[1].at(here) != 0) {
        term.factor = scale * load.share[static_cast<std::size_t>(e)] / load.tokens;
        term.note = "C · E · f[e] / n";
      }
      result.terms.push_back(std::move(term));
    }
  }
  return result;
}

OpExplanation explain_load_gradient(const OpGradArgs& args, int input,
                                    std::span<const std::int64_t> index) {
  if (input != 0) return without_gradient();
  const std::int64_t n = args.in[0].axes[2].size, per_row = targets_of_row(args.in[2]);
  const std::vector<std::int64_t> here = {index[0], index[1]};
  OpExplanation result;
  result.formula = "Σ_i dy[i] · C · E · f[e] / n";
  if (args.in[1].at(here) == 0) return zero_gradient(result.formula, "explain.padding");
  const Load load = load_of(args.in, args.params, index[0]);
  const double share = load.share[static_cast<std::size_t>(index[2])];
  const double slope = args.params.factor * static_cast<double>(n) * share / load.tokens;
  result.quantities = {{"C", args.params.factor},
                       {"experts", static_cast<double>(n)},
                       {"share of the choices", share},
                       {"tokens", load.tokens}};
  for (std::int64_t i = index[0] * per_row; i < (index[0] + 1) * per_row; ++i) {
    if (args.in[2].data[i] < 0) continue;
    result.terms.push_back(
        gradient_term(args, unravel(args.out.axes, i), slope, {}, "C · E · f[e] / n"));
  }
  if (result.terms.empty()) return zero_gradient(result.formula, "explain.no_target");
  return result;
}

// A tensor (batch, position) as a column; of a tensor (batch) the first item alone.
Pane column_pane(const TensorView& t, int input, PaneRole role) {
  Pane pane;
  pane.input = input;
  pane.role = role;
  const bool one = t.axes.size() == 1;
  pane.rows = one ? 1 : t.axes[1].size;
  pane.columns = 1;
  pane.row_stride = 1;
  pane.column_stride = pane.rows;
  pane.row_axis = t.axes[one ? 0 : 1].name;
  pane.column_axis = "batch";
  return pane;
}

std::vector<Pane> load_panes(const OpArgs& args, std::int64_t) {
  Pane g = matrix_pane(args.in[0], 0, PaneRole::kOperand, 0);
  g.row_follow = g.column_follow = Follow::kFree;  // every token has a part in it
  Pane present = column_pane(args.in[1], 1, PaneRole::kOperand);
  present.row_follow = present.column_follow = Follow::kFree;
  return {g, present, column_pane(args.in[2], 2, PaneRole::kOperand),
          column_pane(args.out, -1, PaneRole::kResult)};
}

std::string load_code(const CodeArgs& c, bool torch) {
  const std::string &g = c.in[0], &m = c.in[1], &y = c.in[2];
  const std::int64_t n = c.args.in[0].axes[2].size;
  const std::int64_t best = c.args.params.best <= 0 ? 1 : std::min(c.args.params.best, n);
  const std::string k = std::to_string(best), experts = std::to_string(n);
  const std::string chosen =
      torch ? "best = " + g + ".topk(" + k + ").indices\nf = torch.bincount(best[" + m +
                  " > 0].reshape(-1), minlength=" + experts + ") / max(" + k + " * " + m +
                  ".sum(), 1)  # the share of the choices\n"
            : "best = np.argsort(-" + g + ", axis=-1, kind=\"stable\")[:, :" + k +
                  "]\nf = np.bincount(best[" + m + " > 0].reshape(-1), minlength=" + experts +
                  ") / max(" + k + " * " + m + ".sum(), 1)  # the share of the choices\n";
  const std::string axis = torch ? "dim" : "axis";
  return chosen + "P = (" + m + "[:, None] * " + g + ").sum(" + axis + "=0) / max(" + m +
         ".sum(), 1)  # the mean weight\n" + c.out + " = " + exact_number(c.args.params.factor) +
         " * " + experts + " * (f * P).sum() * (" + y + " >= 0)\n";
}
std::string load_numpy(const CodeArgs& c) { return load_code(c, false); }
std::string load_torch(const CodeArgs& c) { return load_code(c, true); }

}  // namespace

const OpInfo& top_experts_op() {
  static const OpInfo info{
      .op = Op::kTopExperts,
      .id = "top_experts",
      .phrase = "only the best experts are heard",
      .shape = best_shape,
      .forward = best_forward,
      .backward = best_backward,
      .explain = explain_best,
      .explain_gradient = explain_best_gradient,
      .panes = best_panes,
      .numpy = best_numpy,
      .torch = best_torch,
      .inputs = {InputKind::kShares},
      .errors = ErrorClass::kRows,
      .work = {.flops = 40},
      .trials = {"b t h"},
      .keeps_place = true,
      .is_distribution = true,
  };
  return info;
}

const OpInfo& load_balance_op() {
  static const OpInfo info{
      .op = Op::kLoadBalance,
      .id = "load_balance",
      .phrase = "what it costs that few experts do most of the work",
      .shape = load_shape,
      .forward = load_forward,
      .backward = load_backward,
      .explain = explain_load,
      .explain_gradient = explain_load_gradient,
      .panes = load_panes,
      .numpy = load_numpy,
      .torch = load_torch,
      .inputs = {InputKind::kShares, InputKind::kPresence, InputKind::kTargets},
      .errors = ErrorClass::kRows,
      .work = {.flops = 40, .per = WorkPer::kInputCell},
      .trials = {"b t n, b t, b t", "b t n, b t, b", "b t n, b t, b s"},
  };
  return info;
}

}  // namespace headlight
