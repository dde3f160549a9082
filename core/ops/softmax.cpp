// Softmax over the last axis: scores -> weights, logits -> probabilities.
#include <cmath>
#include <limits>

#include "core/base/number_text.h"
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

RowParts parts(const float* row, std::int64_t n, double temperature) {
  RowParts result;
  for (std::int64_t j = 0; j < n; ++j) {
    const double x = row[j];
    if (x > result.max || std::isnan(x)) result.max = x;  // a NaN stays: nothing is larger
  }
  if (result.max == kForbidden) return result;
  for (std::int64_t j = 0; j < n; ++j) result.sum += std::exp((row[j] - result.max) / temperature);
  return result;
}

// p[j] = exp((x[j] − max) / τ) / Σ_k exp((x[k] − max) / τ), with the temperature τ: 1 for plain
// softmax, below it the largest score takes more of the row, above it the row is levelled. A row is
// a distribution over the allowed keys; a row with no allowed key (all −∞) is all zeros, so no NaN
// leaves this function because of a mask.
void forward(const OpArgs& args) {
  const auto [rows, n] = as_rows(args.out.axes);
  const double temperature = args.params.temperature;
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* x = args.in[0].data + r * n;
    const RowParts row = parts(x, n, temperature);
    const bool empty = row.max == kForbidden;
    for (std::int64_t j = 0; j < n; ++j) {
      args.result[r * n + j] =
          empty ? 0.0f : static_cast<float>(std::exp((x[j] - row.max) / temperature) / row.sum);
    }
  }
}

// dx[j] += p[j] · (dp[j] − Σ_k p[k] · dp[k]) / τ
// A weight of 0 passes nothing on, so that the gradient of a row with no allowed key is all zeros.
void backward(const OpGradArgs& args) {
  const auto [rows, n] = as_rows(args.out.axes);
  for (std::int64_t r = 0; args.d_in[0] && r < rows; ++r) {
    const float *p = args.out.data + r * n, *dp = args.d_out + r * n;
    double mean = 0;  // of dp, weighted by p
    for (std::int64_t k = 0; k < n; ++k) mean += static_cast<double>(p[k]) * dp[k];
    for (std::int64_t j = 0; j < n; ++j) {
      if (p[j] == 0.0f) continue;
      float& dx = args.d_in[0][r * n + j];
      dx = static_cast<float>(dx + p[j] * (dp[j] - mean) / args.params.temperature);
    }
  }
}

// exp((x − max) / τ) / sum = own / sum, with the numbers of the row; no τ where it is 1.
MathLine written(double x, const RowParts& row, double temperature, double own) {
  MathLine line;
  if (temperature == 1) {
    line = {math("exp(", "\\frac{\\exp("), math(x), math(" − ", " - "), math(row.max),
            math(") / ", ")}{")};
  } else {
    line = {math("exp((", "\\frac{\\exp(("),
            math(x),
            math(" − ", " - "),
            math(row.max),
            math(") / ", ") / "),
            math(temperature),
            math(") / ", ")}{")};
  }
  line.insert(line.end(),
              {math(row.sum), math(" = ", "} = "), math(own), math(" / ", " / "), math(row.sum)});
  return line;
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
  const double temperature = args.params.temperature;
  const bool plain = temperature == 1;
  const std::string power = plain ? "exp(x − max)" : "exp((x − max) / τ)";
  const RowParts row = parts(x, n, temperature);
  OpExplanation result;
  result.formula = plain ? "exp(x[j] − max) / Σ_k exp(x[k] − max)"
                         : "exp((x[j] − max) / τ) / Σ_k exp((x[k] − max) / τ)";
  if (row.max == kForbidden) {
    result.why = "explain.no_key";
    result.written = {math("0", "0")};
    return result;
  }
  const double own = std::exp((x[j] - row.max) / temperature);
  result.quantities = {{"row maximum", row.max}, {power, own}, {"row sum", row.sum}};
  if (!plain) result.quantities.insert(result.quantities.begin(), {"temperature", temperature});
  result.written = written(x[j], row, temperature, own);
  for (std::int64_t k = 0; k < n; ++k) {
    if (x[k] == kForbidden) continue;  // a forbidden key adds nothing
    cell.back() = k;
    const double e = std::exp((x[k] - row.max) / temperature);
    OpTerm term{{0, cell}, x[k], 0.0, {}, "", e};
    term.note = k == j ? Message("explain.note.own_share", {{"power", power}})
                       : Message("explain.note.through_sum");
    if (k == j && x[k] != 0.0f) term.factor = own / row.sum / x[k];
    result.terms.push_back(std::move(term));
  }
  if (x[j] == 0.0f) {  // no factor turns 0 into a weight: say it as a constant
    result.terms.push_back({{},
                            own / row.sum,
                            1.0,
                            {},
                            (plain ? "exp(0 − max) / sum" : "exp((0 − max) / τ) / sum"),
                            {}});
  }
  return result;
}

// p[j] · (1 − p[j]) / τ of the own weight, −p[j] · p[k] / τ of another; no τ where it is 1.
OpTerm gradient_of_weight(const OpGradArgs& args, const std::vector<std::int64_t>& own,
                          const std::vector<std::int64_t>& other) {
  const double p = args.out.at(own), temperature = args.params.temperature;
  const bool same = own == other, plain = temperature == 1;
  const double q = args.out.at(other), slope = p * ((same ? 1.0 : 0.0) - q) / temperature;
  OpTerm term = gradient_term(args, other, slope, {{kResultCell, own}});
  if (same) {
    term.note = "p[j] · (1 − p[j])";
    term.written = {math(p), math(" × (1 − ", " \\times (1 - "), math(p), math(")", ")")};
  } else {
    term.note = "−p[j] · p[k]";
    term.factor_cells.push_back({kResultCell, other});
    term.written = {math("(−", "(-"), math(p), math(" × ", " \\times "), math(q), math(")", ")")};
  }
  if (plain) return term;
  term.note.plain += " / τ";
  term.written.insert(term.written.end(), {math(" / ", " / "), math(temperature)});
  return term;
}

// Every weight of the row feels a score: its own grows, the others shrink.
OpExplanation explain_gradient(const OpGradArgs& args, int, std::span<const std::int64_t> index) {
  const std::int64_t n = args.out.axes.back().size;
  const std::vector<std::int64_t> own(index.begin(), index.end());
  const std::int64_t begin = flat_index(args.out.axes, own) - own.back();
  const double temperature = args.params.temperature, p = args.out.at(own);
  const bool plain = temperature == 1;
  const std::string formula =
      "p[j] · (dp[j] − Σ_k p[k] · dp[k])" + std::string(plain ? "" : " / τ");
  if (p == 0) return zero_gradient(formula, "explain.no_weight");
  OpExplanation result;
  result.formula = formula;
  double mean = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    if (args.in[0].data[begin + k] == kForbidden) continue;  // it has no weight to shrink
    std::vector<std::int64_t> other = own;
    other.back() = k;
    mean += static_cast<double>(args.out.data[begin + k]) * args.d_out[begin + k];
    result.terms.push_back(gradient_of_weight(args, own, other));
  }
  result.quantities = {{"Σ_k p[k] · dp[k]", mean}};
  if (!plain) result.quantities.insert(result.quantities.begin(), {"temperature", temperature});
  result.written = {math(p),
                    math(" × (", " \\times ("),
                    math(args.d_out[begin + own.back()]),
                    math(" − ", " - "),
                    math(mean),
                    math(")", ")")};
  if (!plain) {
    result.written.insert(result.written.end(), {math(" / ", " / "), math(temperature)});
  }
  return result;
}

// x, exp(x − max), and the weights that the run made of them. A forbidden key has exp(−∞) = 0.
OpRow open_row(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t n = args.out.axes.back().size;
  const std::int64_t begin = flat_index(args.out.axes, index) - index.back();
  const float* x = args.in[0].data + begin;
  const float* p = args.out.data + begin;
  const double temperature = args.params.temperature;
  const RowParts row = parts(x, n, temperature);
  OpRow result;
  result.lines.push_back({"x", {x, x + n}});
  if (row.max != kForbidden) {
    result.quantities = {{"row maximum", row.max}, {"row sum", row.sum}};
    RowLine line{temperature == 1 ? "exp" : "exp_tau", {}, true};
    for (std::int64_t j = 0; j < n; ++j)
      line.values.push_back(std::exp((x[j] - row.max) / temperature));
    result.lines.push_back(std::move(line));
  }
  result.lines.push_back({"weight", {p, p + n}, true});
  return result;
}

std::vector<Pane> panes(const OpArgs& args, std::int64_t head) {
  Pane x = matrix_pane(args.in[0], 0, PaneRole::kOperand, head);
  x.column_follow = Follow::kWholeRow;  // through its sum
  return {x, matrix_pane(args.out, -1, PaneRole::kResult, head)};
}

// Does any row have no allowed key? Then exp(−∞ − (−∞)) has to be minded.
bool has_empty_row(const OpArgs& args) {
  const auto [rows, n] = as_rows(args.out.axes);
  for (std::int64_t r = 0; r < rows; ++r) {
    if (parts(args.in[0].data + r * n, n, 1).max == kForbidden) return true;
  }
  return false;
}

// "(x) / 0.5" where there is a temperature.
std::string divided(const std::string& x, const OpParams& params) {
  if (params.temperature == 1) return x;
  return "(" + x + ") / " + exact_number(params.temperature);
}

std::string numpy(const CodeArgs& c) {
  const std::string& x = c.in[0];
  const bool empty = has_empty_row(c.args);
  std::string text = "top = " + x + ".max(axis=-1, keepdims=True)\n";
  if (empty) text += "top = np.where(np.isneginf(top), 0, top)  # a row with no allowed key\n";
  const std::string above_top = x + " - top";
  text +=
      "e = np.exp(" + divided(above_top, c.args.params) + ")  # " + code_shape(c.args.out) + "\n";
  text += "total = e.sum(axis=-1, keepdims=True)\n";
  if (empty) text += "total = np.where(total == 0, 1, total)    # that row stays zero\n";
  return text + c.out + " = e / total  # every row sums to 1\n";
}

std::string torch(const CodeArgs& c) {
  return c.out + " = torch.softmax(" + divided(c.in[0], c.args.params) + ", dim=-1)" +
         (has_empty_row(c.args) ? ".nan_to_num(0.0)  # a row with no allowed key is zero\n"
                                : "  # every row sums to 1\n");
}

}  // namespace

const OpInfo& softmax_op() {
  static const OpInfo info{
      .op = Op::kSoftmax,
      .id = "softmax",
      .phrase = "softmax over the row",
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .panes = panes,
      .numpy = numpy,
      .torch = torch,
      .detail = Detail::kRow,
      .open_row = open_row,
      .inputs = {InputKind::kScores},
      .errors = ErrorClass::kRows,
      .work = {.flops = 80},
      .trials = {"b h t s"},
      .timed = {{TunePart::kLongRows, "t s"},
                {TunePart::kShortRows, "t s"},
                {TunePart::kShortRows, "t s", 0}},
      .keeps_place = true,
      .is_distribution = true,
      .row_by_row = true,
      .gradient_reads = {.inputs = {}, .result = true},
  };
  return info;
}

}  // namespace headlight
