// Root mean square layer normalisation (Zhang, Sennrich 2019): each row divided by the root of the
// mean of its squares, then scaled. There is no mean to take off and no shift to add.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/ops/op.h"

namespace headlight {
namespace {

// x (..., feature), w (d_model) -> the axes of x
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("rms_norm", in, 2, 2);
  if (in[1].axes.size() != 1 || in[1].axes[0].size != in[0].axes.back().size) {
    shape_error("rms_norm", in, "x (..., feature) with w as long as a row");
  }
  return {in[0].axes.begin(), in[0].axes.end()};
}

double mean_square(const float* row, std::int64_t n) {
  double squares = 0;
  for (std::int64_t i = 0; i < n; ++i) squares += static_cast<double>(row[i]) * row[i];
  return squares / static_cast<double>(n);
}

// sqrt(mean of squares + ε)
double root(const float* row, std::int64_t n, const OpParams& params) {
  return std::sqrt(mean_square(row, n) + params.epsilon);
}

// y = x / sqrt(mean(x²) + ε) · w, row by row
void forward(const OpArgs& args) {
  const auto [rows, n] = as_rows(args.out.axes);
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* x = args.in[0].data + r * n;
    const double inverse = 1.0 / root(x, n, args.params);
    for (std::int64_t i = 0; i < n; ++i) {
      args.result[r * n + i] = static_cast<float>(x[i] * inverse * args.in[1].data[i]);
    }
  }
}

// dw[i] += Σ_r dy[r, i] · x[r, i] / σ, with σ = sqrt(mean(x²) + ε) of the row
void add_weight_gradients(const OpGradArgs& args) {
  const auto [rows, n] = as_rows(args.out.axes);
  // A few columns at a time, so that a row's root is not taken anew for each.
  constexpr std::int64_t kColumns = 64;
  for (std::int64_t first = 0; first < n; first += kColumns) {
    const std::int64_t columns = std::min(kColumns, n - first);
    double sums[kColumns] = {};
    for (std::int64_t r = 0; r < rows; ++r) {
      const float *x = args.in[0].data + r * n, *dy = args.d_out + r * n;
      const double sigma = root(x, n, args.params);
      for (std::int64_t i = 0; i < columns; ++i) sums[i] += dy[first + i] * (x[first + i] / sigma);
    }
    float* dw = args.d_in[1] + first;
    for (std::int64_t i = 0; i < columns; ++i) dw[i] = static_cast<float>(dw[i] + sums[i]);
  }
}

// With s[i] = x[i] / σ and g[i] = dy[i] · w[i]:
// dx[i] += (g[i] − s[i] · mean(g · n)) / σ,   because the row's σ follows x[i]
void backward(const OpGradArgs& args) {
  const auto [rows, n] = as_rows(args.out.axes);
  const float* w = args.in[1].data;
  for (std::int64_t r = 0; args.d_in[0] && r < rows; ++r) {
    const float *x = args.in[0].data + r * n, *dy = args.d_out + r * n;
    const double sigma = root(x, n, args.params);
    double slant = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      slant += static_cast<double>(dy[i]) * w[i] * (x[i] / sigma) / static_cast<double>(n);
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const double g = static_cast<double>(dy[i]) * w[i];
      float& dx = args.d_in[0][r * n + i];
      dx = static_cast<float>(dx + (g - x[i] / sigma * slant) / sigma);
    }
  }
  if (args.d_in[1]) add_weight_gradients(args);
}

// The row of the cell at `index`: its numbers and what they all share.
struct CellRow {
  CellRow(const TensorView& t, std::span<const std::int64_t> index, const OpParams& params)
      : n(t.axes.back().size),
        begin(flat_index(t.axes, index) - index.back()),
        x(t.data + begin),
        square(mean_square(x, n)),
        sigma(std::sqrt(square + params.epsilon)) {}
  std::int64_t n, begin;
  const float* x;
  double square, sigma;
};

// With the row's root taken as it is, y is a multiple of x.
OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::vector<std::int64_t> cell(index.begin(), index.end());
  const CellRow row(args.in[0], cell, args.params);
  const std::int64_t i = cell.back();
  const double w = args.in[1].data[i];
  OpExplanation result;
  result.formula = "x[t, f] / σ · w[f]";
  result.quantities = {{"mean(x²)", row.square}, {"sqrt(mean(x²) + ε)", row.sigma}};
  result.written = {math("", "\\frac{"),       math(row.x[i]), math(" / ", "}{"), math(row.sigma),
                    math(" × ", "} \\times "), math(w)};
  result.terms = {{{0, cell}, row.x[i], w / row.sigma, {{1, {i}}}, "w / σ"}};
  return result;
}

// w[f] feels each row's normalised cell.
OpExplanation explain_weight_gradient(const OpGradArgs& args, std::int64_t f) {
  OpExplanation result = column_gradient(args, f, "Σ_t dy[t, f] · x[t, f] / σ");
  for (OpTerm& term : result.terms) {
    const CellRow row(args.in[0], term.cell.index, args.params);
    term.factor = row.x[f] / row.sigma;
    term.factor_cells = {{0, term.cell.index}};
    term.note = "x / σ";
    term.written = {math("(", "("), math(row.x[f]), math(" / ", " / "), math(row.sigma),
                    math(")", ")")};
  }
  return result;
}

// With s = x / σ: the own cell counts w · (1 − s² / n) / σ, and every other cell of the row
// −w · s · s / (n · σ), because the row's σ follows x.
OpExplanation explain_row_gradient(const OpGradArgs& args, std::span<const std::int64_t> index) {
  std::vector<std::int64_t> cell(index.begin(), index.end());
  const CellRow row(args.in[0], cell, args.params);
  const std::int64_t i = index.back();
  const float *dy = args.d_out + row.begin, *w = args.in[1].data;
  const double own = row.x[i] / row.sigma, count = static_cast<double>(row.n);
  double slant = 0;
  OpExplanation result;
  for (std::int64_t j = 0; j < row.n; ++j) {
    const double s = row.x[j] / row.sigma;
    slant += static_cast<double>(dy[j]) * w[j] * s / count;
    cell.back() = j;
    const double share = (j == i ? 1.0 : 0.0) - own * s / count;
    OpTerm term = gradient_term(args, cell, w[j] * share / row.sigma, {{1, {j}}, {0, cell}});
    if (j == i) {
      term.note = "w · (1 − s² / n) / σ";
    } else {
      term.note = Message("explain.note.through_spread");
      term.factor_cells.push_back({0, {index.begin(), index.end()}});
    }
    term.written = {math("(", "("), math(w[j]),         math(" × ", " \\times "),
                    math(share),    math(" / ", " / "), math(row.sigma),
                    math(")", ")")};
    result.terms.push_back(std::move(term));
  }
  result.formula = "(g[f] − n[f] · mean(g · n)) / σ, g = dy · w, n = x / σ";
  result.quantities = {{"sqrt(mean(x²) + ε)", row.sigma}, {"mean(g · n)", slant}};
  result.written = {math("(", "\\frac{"),
                    math(static_cast<double>(dy[i]) * w[i]),
                    math(" − ", " - "),
                    math(own),
                    math(" × ", " \\times "),
                    math(slant),
                    math(") / ", "}{"),
                    math(row.sigma),
                    math("", "}")};
  return result;
}

OpExplanation explain_gradient(const OpGradArgs& args, int input,
                               std::span<const std::int64_t> index) {
  return input == 1 ? explain_weight_gradient(args, index[0]) : explain_row_gradient(args, index);
}

// x, over the root, times w; the last line is what the run made.
OpRow open_row(const OpArgs& args, std::span<const std::int64_t> index) {
  const CellRow row(args.in[0], index, args.params);
  const float* y = args.out.data + row.begin;
  RowLine normalised{"over_rms", {}};
  for (std::int64_t i = 0; i < row.n; ++i) normalised.values.push_back(row.x[i] / row.sigma);
  return {{{"mean(x²)", row.square}, {"sqrt(mean(x²) + ε)", row.sigma}},
          {{"x", {row.x, row.x + row.n}}, std::move(normalised), {"scaled", {y, y + row.n}}}};
}

std::vector<Pane> panes(const OpArgs& args, std::int64_t) {
  Pane x = matrix_pane(args.in[0], 0, PaneRole::kOperand, 0);
  x.column_follow = Follow::kWholeRow;
  return {x, vector_pane(args.in[1], 1, PaneRole::kRowVector),
          matrix_pane(args.out, -1, PaneRole::kResult, 0)};
}

// Every version of PyTorch can say this; F.rms_norm came with 2.4.
std::string code(const CodeArgs& c, const std::string& library, const std::string& mean) {
  char epsilon[32];
  std::snprintf(epsilon, sizeof epsilon, "%g", static_cast<double>(c.args.params.epsilon));
  const std::string& x = c.in[0];
  return "square = (" + x + " * " + x + ")" + mean + "\n" + c.out + " = " + x + " / " + library +
         ".sqrt(square + " + epsilon + ") * " + c.in[1] + "  # " + code_shape(c.args.out) + "\n";
}
std::string numpy(const CodeArgs& c) { return code(c, "np", ".mean(axis=-1, keepdims=True)"); }
std::string torch(const CodeArgs& c) { return code(c, "torch", ".mean(dim=-1, keepdim=True)"); }

}  // namespace

const OpInfo& rms_norm_op() {
  static const OpInfo info{
      .op = Op::kRmsNorm,
      .id = "rms_norm",
      .phrase = "divides the row by the root of its mean square",

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
      .trials = {"b t n, n"},
      .row_by_row = true,
      .gradient_reads = {.inputs = {true, true}, .result = false},
  };
  return info;
}

}  // namespace headlight
