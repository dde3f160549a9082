// Layer normalisation (Ba, Kiros, Hinton 2016): each row to mean 0 and variance 1, then scale,
// shift.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/ops/op.h"

namespace headlight {
namespace {

// x (..., feature), w (d_model), b (d_model, may be left out) -> the axes of x
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("layer_norm", in, 2, 3);
  for (std::size_t i = 1; i < in.size(); ++i) {
    if (in[i].axes.size() != 1 || in[i].axes[0].size != in[0].axes.back().size) {
      shape_error("layer_norm", in, "x (..., feature) with w and b as long as a row");
    }
  }
  return {in[0].axes.begin(), in[0].axes.end()};
}

struct RowStatistics {
  double mean = 0, variance = 0;
};

// The variance is the biased one: divided by n.
RowStatistics statistics(const float* row, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += row[i];
  const double mean = sum / static_cast<double>(n);
  double squares = 0;
  for (std::int64_t i = 0; i < n; ++i) squares += (row[i] - mean) * (row[i] - mean);
  return {mean, squares / static_cast<double>(n)};
}

// y = (x - mean) / sqrt(variance + ε) · w + b, row by row
void forward(const OpArgs& args) {
  const auto [rows, n] = as_rows(args.out.axes);
  const float* bias = args.in.size() > 2 ? args.in[2].data : nullptr;
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* x = args.in[0].data + r * n;
    const auto [mean, variance] = statistics(x, n);
    const double inverse = 1.0 / std::sqrt(variance + args.params.epsilon);
    for (std::int64_t i = 0; i < n; ++i) {
      const double y = (x[i] - mean) * inverse * args.in[1].data[i] + (bias ? bias[i] : 0.0f);
      args.result[r * n + i] = static_cast<float>(y);
    }
  }
}

// dw[i] += Σ_r dy[r, i] · (x[r, i] − mean) / σ
// db[i] += Σ_r dy[r, i]
void add_weight_gradients(const OpGradArgs& args) {
  const auto [rows, n] = as_rows(args.out.axes);
  float *dw = args.d_in[1], *db = args.in.size() > 2 ? args.d_in[2] : nullptr;
  // A few columns at a time, so that a row's statistics are not made anew for each.
  constexpr std::int64_t kColumns = 64;
  for (std::int64_t first = 0; first < n; first += kColumns) {
    const std::int64_t columns = std::min(kColumns, n - first);
    double w_sum[kColumns] = {}, b_sum[kColumns] = {};
    for (std::int64_t r = 0; r < rows; ++r) {
      const float *x = args.in[0].data + r * n, *dy = args.d_out + r * n;
      const auto [mean, variance] = statistics(x, n);
      const double sigma = std::sqrt(variance + args.params.epsilon);
      for (std::int64_t i = 0; i < columns; ++i) {
        w_sum[i] += dy[first + i] * ((x[first + i] - mean) / sigma);
        b_sum[i] += dy[first + i];
      }
    }
    for (std::int64_t i = 0; i < columns; ++i) {
      if (dw) dw[first + i] = static_cast<float>(dw[first + i] + w_sum[i]);
      if (db) db[first + i] = static_cast<float>(db[first + i] + b_sum[i]);
    }
  }
}

// With n[i] = (x[i] − mean) / σ, σ = sqrt(variance + ε), and g[i] = dy[i] · w[i]:
// dx[i] += (g[i] − mean(g) − n[i] · mean(g · n)) / σ,   because the row's mean and σ follow x[i]
void backward(const OpGradArgs& args) {
  const auto [rows, n] = as_rows(args.out.axes);
  const auto count = static_cast<double>(n);
  const float* w = args.in[1].data;
  for (std::int64_t r = 0; args.d_in[0] && r < rows; ++r) {
    const float *x = args.in[0].data + r * n, *dy = args.d_out + r * n;
    const auto [mean, variance] = statistics(x, n);
    const double sigma = std::sqrt(variance + args.params.epsilon);
    double g_mean = 0, gn_mean = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const double g = static_cast<double>(dy[i]) * w[i];
      g_mean += g / count;
      gn_mean += g * ((x[i] - mean) / sigma) / count;
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const double g = static_cast<double>(dy[i]) * w[i], normal = (x[i] - mean) / sigma;
      float& dx = args.d_in[0][r * n + i];
      dx = static_cast<float>(dx + (g - g_mean - normal * gn_mean) / sigma);
    }
  }
  add_weight_gradients(args);
}

// With the row's deviation σ taken as it is, y is linear in x: the cell itself counts (1 -
// 1/n)·w/σ, every other cell of the row, through the mean, -w/(n·σ).
OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t n = args.out.axes.back().size;
  std::vector<std::int64_t> cell(index.begin(), index.end());
  const std::int64_t i = cell.back();
  const std::int64_t row = flat_index(args.out.axes, cell) - i;
  const float* x = args.in[0].data + row;
  const auto [mean, variance] = statistics(x, n);
  const double sigma = std::sqrt(variance + args.params.epsilon);
  const double w = args.in[1].data[i];
  OpExplanation result;
  result.formula = "(x[t, f] − μ) / σ · w[f]";
  if (args.in.size() > 2) result.formula += " + b[f]";
  result.quantities = {{"mean", mean}, {"variance", variance}, {"sqrt(variance + ε)", sigma}};
  result.written = {math("(", "\\frac{"), math(x[i]),  math(" − ", " - "),        math(mean),
                    math(") / ", "}{"),   math(sigma), math(" × ", "} \\times "), math(w)};
  if (args.in.size() > 2) {
    result.written.push_back(math(" + ", " + "));
    result.written.push_back(math(args.in[2].data[i]));
  }
  for (std::int64_t j = 0; j < n; ++j) {
    cell.back() = j;
    const double share = (j == i ? 1.0 : 0.0) - 1.0 / static_cast<double>(n);
    OpTerm term{{0, cell}, x[j], share * w / sigma, {{1, {i}}}, ""};
    term.note = j == i ? TermNote("(1 − 1/n) · w / σ") : Message("explain.note.through_mean");
    result.terms.push_back(std::move(term));
  }
  if (args.in.size() > 2) {
    result.terms.push_back({{2, {i}}, args.in[2].data[i], 1.0, {}, Message("explain.note.shift")});
  }
  return result;
}

// w[f] feels each row's normalised cell, and b[f] each row.
OpExplanation explain_weight_gradient(const OpGradArgs& args, std::int64_t f) {
  const auto [rows, n] = as_rows(args.out.axes);
  OpExplanation result = column_gradient(args, f, "Σ_t dy[t, f] · (x[t, f] − μ) / σ");
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* x = args.in[0].data + r * n;
    const auto [mean, variance] = statistics(x, n);
    const double sigma = std::sqrt(variance + args.params.epsilon);
    OpTerm& term = result.terms[static_cast<std::size_t>(r)];
    term.factor = (x[f] - mean) / sigma;
    term.factor_cells = {{0, term.cell.index}};
    term.note = "(x − μ) / σ";
    term.written = {math("(", "("), math(x[f]),           math(" − ", " - "),
                    math(mean),     math(") / ", ") / "), math(sigma)};
  }
  return result;
}

// With s = (x − mean) / σ: the own cell counts w · (1 − 1/n − s²/n) / σ, and every other cell of
// the row −w · (1 + s · s) / (n · σ), because the row's mean and σ follow x.
OpExplanation explain_row_gradient(const OpGradArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t n = args.out.axes.back().size, i = index.back();
  std::vector<std::int64_t> cell(index.begin(), index.end());
  const std::int64_t begin = flat_index(args.out.axes, cell) - i;
  const float *x = args.in[0].data + begin, *dy = args.d_out + begin, *w = args.in[1].data;
  const auto [mean, variance] = statistics(x, n);
  const double sigma = std::sqrt(variance + args.params.epsilon), count = static_cast<double>(n);
  const double own = (x[i] - mean) / sigma;
  double g_mean = 0, gs_mean = 0;
  OpExplanation result;
  for (std::int64_t j = 0; j < n; ++j) {
    const double s = (x[j] - mean) / sigma, g = static_cast<double>(dy[j]) * w[j];
    g_mean += g / count;
    gs_mean += g * s / count;
    cell.back() = j;
    const double share = (j == i ? 1.0 : 0.0) - (1 + own * s) / count;
    OpTerm term = gradient_term(args, cell, w[j] * share / sigma, {{1, {j}}, {0, cell}});
    if (j == i) {
      term.note = "w · (1 − (1 + s²) / n) / σ";
    } else {
      term.note = Message("explain.note.through_mean_and_spread");
      term.factor_cells.push_back({0, {index.begin(), index.end()}});
    }
    term.written = {math("(", "("), math(w[j]),         math(" × ", " \\times "),
                    math(share),    math(" / ", " / "), math(sigma),
                    math(")", ")")};
    result.terms.push_back(std::move(term));
  }
  const double g = static_cast<double>(dy[i]) * w[i];
  result.formula = "(g[f] − mean(g) − n[f] · mean(g · n)) / σ, g = dy · w, n = (x − μ) / σ";
  result.quantities = {
      {"mean", mean}, {"sqrt(variance + ε)", sigma}, {"mean(g)", g_mean}, {"mean(g · n)", gs_mean}};
  result.written = {math("(", "\\frac{"),
                    math(g),
                    math(" − ", " - "),
                    math(g_mean),
                    math(" − ", " - "),
                    math(own),
                    math(" × ", " \\times "),
                    math(gs_mean),
                    math(") / ", "}{"),
                    math(sigma),
                    math("", "}")};
  return result;
}

OpExplanation explain_gradient(const OpGradArgs& args, int input,
                               std::span<const std::int64_t> index) {
  if (input == 1) return explain_weight_gradient(args, index[0]);
  if (input == 2) return column_gradient(args, index[0], "Σ_t dy[t, f]");
  return explain_row_gradient(args, index);
}

// x, less the mean, over the deviation, times w, plus b; the last line is what the run made.
OpRow open_row(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t n = args.out.axes.back().size;
  const std::int64_t begin = flat_index(args.out.axes, index) - index.back();
  const float* x = args.in[0].data + begin;
  const float* y = args.out.data + begin;
  const auto [mean, variance] = statistics(x, n);
  const double sigma = std::sqrt(variance + args.params.epsilon);
  OpRow result;
  result.quantities = {{"mean", mean}, {"variance", variance}, {"sqrt(variance + ε)", sigma}};
  RowLine centred{"centred", {}}, normalised{"normalised", {}}, scaled{"scaled", {}};
  for (std::int64_t i = 0; i < n; ++i) {
    centred.values.push_back(x[i] - mean);
    normalised.values.push_back((x[i] - mean) / sigma);
    scaled.values.push_back((x[i] - mean) / sigma * args.in[1].data[i]);
  }
  const bool shifts = args.in.size() > 2;
  result.lines = {{"x", {x, x + n}}, std::move(centred), std::move(normalised)};
  if (shifts) result.lines.push_back(std::move(scaled));
  result.lines.push_back({shifts ? "shifted" : "scaled", {y, y + n}});
  return result;
}

std::vector<Pane> panes(const OpArgs& args, std::int64_t) {
  Pane x = matrix_pane(args.in[0], 0, PaneRole::kOperand, 0);
  x.column_follow = Follow::kWholeRow;
  std::vector<Pane> result = {x, vector_pane(args.in[1], 1, PaneRole::kRowVector)};
  if (args.in.size() > 2) result.push_back(vector_pane(args.in[2], 2, PaneRole::kRowVector));
  result.push_back(matrix_pane(args.out, -1, PaneRole::kResult, 0));
  return result;
}

std::string epsilon_text(const CodeArgs& c) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", static_cast<double>(c.args.params.epsilon));
  return text;
}

std::string numpy(const CodeArgs& c) {
  const std::string& x = c.in[0];
  const std::string bias = c.in.size() > 2 ? " + " + c.in[2] : "";
  return "mean = " + x + ".mean(axis=-1, keepdims=True)\n" + "variance = " + x +
         ".var(axis=-1, keepdims=True)  # divided by n, not n - 1\n" + c.out + " = (" + x +
         " - mean) / np.sqrt(variance + " + epsilon_text(c) + ") * " + c.in[1] + bias + "  # " +
         code_shape(c.args.out) + "\n";
}

std::string torch(const CodeArgs& c) {
  const std::string bias = c.in.size() > 2 ? ", " + c.in[2] : ", None";
  return c.out + " = F.layer_norm(" + c.in[0] + ", (" + code_size(c.args.out, 1) + ",), " +
         c.in[1] + bias + ", eps=" + epsilon_text(c) + ")  # " + code_shape(c.args.out) + "\n";
}

}  // namespace

const OpInfo& layer_norm_op() {
  static const OpInfo info{
      .op = Op::kLayerNorm,
      .id = "layer_norm",
      .phrase = "normalises the row",
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
      .errors = ErrorClass::kRows,
      .work = {.flops = 50},
      .trials = {"b t n, n, n", "b t n, n"},
      .timed = {{TunePart::kLongRows, "b t n, n, n"},
                {TunePart::kLongRows, "b t n, n, n", 0},
                {TunePart::kShortRows, "b t s, s, s"},
                {TunePart::kColumns, "b t n, n, n", 1},
                {TunePart::kColumns, "b t n, n, n", 2}},
      .row_by_row = true,
      .gradient_reads = {.inputs = {true, true}, .result = false},
  };
  return info;
}

}  // namespace headlight
