// Cross-entropy: how surprised the model is by the token that really comes, in nats.
#include <cmath>
#include <limits>

#include "core/ops/op.h"

namespace headlight {
namespace {

// logits (batch, position, vocab), targets (batch, position) -> (batch, position); or, of classes,
// logits (batch, class), targets (batch) -> (batch)
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("cross_entropy", in, 2, 2);
  const auto &x = in[0].axes, &y = in[1].axes;
  bool fits = (x.size() == 3 || x.size() == 2) && y.size() + 1 == x.size() && x.back().size > 0;
  for (std::size_t a = 0; fits && a < y.size(); ++a) fits = x[a].size == y[a].size;
  if (!fits) {
    shape_error("cross_entropy", in,
                "logits (batch, position, vocab) and targets (batch, position), or logits (batch, "
                "class) and targets (batch)");
  }
  return {x.begin(), x.end() - 1};
}

// The row's target, or -1 where it is not counted. Targets are ids as floats; what is no id of the
// vocabulary (-1 by custom) is not counted.
std::int64_t target_of(float id, std::int64_t vocab) {
  return id >= 0 && id < static_cast<float>(vocab) ? static_cast<std::int64_t>(id) : -1;
}

struct RowParts {
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0;  // Σ_k exp(x[k] − max)
};

RowParts parts(const float* x, std::int64_t n) {
  RowParts row;
  for (std::int64_t k = 0; k < n; ++k) {
    if (x[k] > row.max || std::isnan(x[k])) row.max = x[k];  // a NaN stays: nothing is larger
  }
  for (std::int64_t k = 0; k < n; ++k) row.sum += std::exp(x[k] - row.max);
  return row;
}

// Σ_k exp(x[k] − max) without the target: where that is nearly certain its 1 would swallow them.
double others_of(const float* x, std::int64_t n, std::int64_t target, double max) {
  double sum = 0;
  for (std::int64_t k = 0; k < n; ++k) sum += k == target ? 0.0 : std::exp(x[k] - max);
  return sum;
}

// L[t] = −log softmax(x[t])[target] = max + log Σ_k exp(x[t, k] − max) − x[t, target], which
// overflows for no finite logits; NaN where a logit is +∞ or NaN, or all are −∞. A row that is not
// counted costs 0.
void forward(const OpArgs& args) {
  const auto [rows, n] = as_rows(args.in[0].axes);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t target = target_of(args.in[1].data[r], n);
    const float* x = args.in[0].data + r * n;
    args.result[r] = 0;
    if (target < 0) continue;
    const RowParts row = parts(x, n);
    if (!std::isfinite(row.max)) {
      args.result[r] = std::numeric_limits<float>::quiet_NaN();
      continue;
    }
    const double others = others_of(x, n, target, row.max);
    const double loss =
        x[target] == row.max ? std::log1p(others) : std::log(row.sum) + (row.max - x[target]);
    args.result[r] = static_cast<float>(loss);
  }
}

// dx[t, j] += dL[t] · (softmax(x[t])[j] − [j = target]); nothing where the row is not counted
void backward(const OpGradArgs& args) {
  const auto [rows, n] = as_rows(args.in[0].axes);
  for (std::int64_t r = 0; args.d_in[0] && r < rows; ++r) {
    const std::int64_t target = target_of(args.in[1].data[r], n);
    if (target < 0) continue;
    const float* x = args.in[0].data + r * n;
    const RowParts row = parts(x, n);
    const double others = others_of(x, n, target, row.max);
    for (std::int64_t j = 0; j < n; ++j) {
      const double weight = (j == target ? -others : std::exp(x[j] - row.max)) / row.sum;
      float& dx = args.d_in[0][r * n + j];
      dx = static_cast<float>(dx + args.d_out[r] * weight);
    }
  }
}

// The loss is the row's level, log Σ exp(x), less the target's own logit. The other logits stand
// with factor 0 because they act only through the level.
OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t n = args.in[0].axes.back().size;
  const std::vector<std::int64_t> place(index.begin(), index.end());
  const std::int64_t r = flat_index(args.out.axes, place);
  const float* x = args.in[0].data + r * n;
  const std::int64_t target = target_of(args.in[1].data[r], n);
  OpExplanation result;
  result.formula = "log Σ_k exp(x[t, k]) − x[t, target]";
  if (target < 0) {
    result.why = "explain.no_target";
    result.written = {math("0", "0")};
    return result;
  }
  const RowParts row = parts(x, n);
  const double level = row.max + std::log(row.sum);
  result.quantities = {{"target", static_cast<double>(target), true},
                       {"row maximum", row.max},
                       {"row sum", row.sum},
                       {"max + log(row sum)", level}};
  result.written = {math(row.max), math(" + log(", " + \\log("), math(row.sum),
                    math(") − ", ") - "), math(x[target])};
  std::vector<std::int64_t> cell = place;
  cell.push_back(0);
  for (std::int64_t k = 0; k < n; ++k) {
    cell.back() = k;
    OpTerm term{{0, cell}, x[k], 0.0, {}, "", std::exp(x[k] - row.max)};
    term.note = Message(k == target ? "explain.note.target_logit" : "explain.note.through_sum");
    if (k == target) {
      term.factor = -1;
      term.factor_cells = {{1, place}};
    }
    result.terms.push_back(std::move(term));
  }
  result.terms.push_back({{}, level, 1.0, {}, "max + log(sum)", {}});
  return result;
}

// Each logit is felt through its probability, exp(x − max) / sum; the target's own, also directly.
OpExplanation explain_gradient(const OpGradArgs& args, int input,
                               std::span<const std::int64_t> index) {
  if (input != 0) return without_gradient();
  const std::int64_t n = args.in[0].axes.back().size, j = index.back();
  const std::vector<std::int64_t> cell(index.begin(), index.end());
  const std::vector<std::int64_t> place(index.begin(), index.end() - 1);
  const std::int64_t r = flat_index(args.out.axes, place);
  const float* x = args.in[0].data + r * n;
  const std::int64_t target = target_of(args.in[1].data[r], n);
  const std::string formula = "dL[t] · (softmax(x[t])[j] − [j = target])";
  if (target < 0) return zero_gradient(formula, "explain.no_target");
  const RowParts row = parts(x, n);
  const double own = std::exp(x[j] - row.max), probability = own / row.sum;
  const bool hit = j == target;
  OpTerm term =
      gradient_term(args, place, probability - (hit ? 1.0 : 0.0), {{0, cell}},
                    Message(hit ? "explain.note.target_probability" : "explain.note.probability"));
  if (hit) {
    term.factor_cells.push_back({1, place});
    term.written = {math("(", "("), math(probability), math(" − 1)", " - 1)")};
  }
  OpExplanation result{{},
                       {{"target", static_cast<double>(target), true},
                        {"row maximum", row.max},
                        {"row sum", row.sum},
                        {"probability", probability}},
                       formula};
  result.written = {math(term.value), math(" × (exp(", " \\times (\\exp("),
                    math(x[j]),       math(" − ", " - "),
                    math(row.max),    math(") / ", ") / "),
                    math(row.sum),    hit ? math(" − 1)", " - 1)") : math(")", ")")};
  result.terms.push_back(std::move(term));
  return result;
}

// A tensor (batch, position) as a column: its positions from top to bottom, batch item 0; of a
// tensor (batch) that item alone.
Pane column_pane(const TensorView& t, int input, PaneRole role) {
  Pane pane;
  pane.input = input;
  pane.role = role;
  const bool classes = t.axes.size() == 1;
  pane.rows = classes ? 1 : t.axes[1].size;
  pane.columns = 1;
  pane.row_stride = 1;
  pane.column_stride = pane.rows;
  pane.row_axis = classes ? "batch" : "position";
  pane.column_axis = "batch";
  return pane;
}

std::vector<Pane> panes(const OpArgs& args, std::int64_t) {
  Pane x = matrix_pane(args.in[0], 0, PaneRole::kOperand, 0);
  x.column_follow = Follow::kFree;  // the whole row acts, through its sum
  return {x, column_pane(args.in[1], 1, PaneRole::kOperand),
          column_pane(args.out, -1, PaneRole::kResult)};
}

std::string numpy(const CodeArgs& c) {
  const std::string &x = c.in[0], &y = c.in[1];
  if (c.args.out.axes.size() == 1) {  // one row of classes
    return c.out + " = np.log(np.exp(" + x + " - " + x + ".max()).sum()) + " + x + ".max() - " + x +
           "[int(" + y + ")]\n";
  }
  return "top = " + x + ".max(axis=-1, keepdims=True)\n" + "level = top[:, 0] + np.log(np.exp(" +
         x + " - top).sum(axis=-1))  # " + code_shape(c.args.out) + "\n" + "counted = " + y +
         " >= 0  # a target of -1 costs nothing\n" + "own = " + x + "[np.arange(len(" + y +
         ")), np.where(counted, " + y + ", 0).astype(int)]\n" + c.out +
         " = np.where(counted, level - own, 0)  # " + code_shape(c.args.out) + "\n";
}

std::string torch(const CodeArgs& c) {
  if (c.args.out.axes.size() == 1)
    return c.out + " = F.cross_entropy(" + c.in[0] + ", " + c.in[1] + ".long())\n";
  return c.out + " = F.cross_entropy(" + c.in[0] + ", " + c.in[1] +
         ".long(), ignore_index=-1, reduction=\"none\")  # " + code_shape(c.args.out) + "\n";
}

}  // namespace

const OpInfo& cross_entropy_op() {
  static const OpInfo info{
      .op = Op::kCrossEntropy,
      .id = "cross_entropy",
      .phrase = "minus the logarithm of the target's probability",
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .panes = panes,
      .numpy = numpy,
      .torch = torch,
      .inputs = {InputKind::kNumbers, InputKind::kTargets},
      .errors = ErrorClass::kRows,
      .work = {.flops = 80, .per = WorkPer::kInputCell},
      .trials = {"b t n, b t", "t n, t"},
      .gradient_reads = {.inputs = {true, true}, .result = false},
  };
  return info;
}

}  // namespace headlight
