// Activations of the feed-forward network: ReLU, GELU in both forms and SiLU (Hendrycks, Gimpel
// 2016).
#include <cmath>
#include <numbers>

#include "core/ops/op.h"

namespace headlight {
namespace {

// x -> the axes of x
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("activation", in, 1, 1);
  return {in[0].axes.begin(), in[0].axes.end()};
}

// Each of them is x times a gate between 0 and 1.
double relu_gate(double x) { return x > 0 ? 1.0 : 0.0; }

// Φ(x), the normal distribution function
double gelu_gate(double x) { return 0.5 * (1.0 + std::erf(x / std::numbers::sqrt2)); }

// its approximation by a tanh, as in GPT-2
double gelu_tanh_gate(double x) {
  const double c = std::sqrt(2.0 / std::numbers::pi);
  return 0.5 * (1.0 + std::tanh(c * (x + 0.044715 * x * x * x)));
}

// the logistic function
double silu_gate(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// The slopes of x · gate(x): gate(x) + x · gate'(x).
double relu_slope(double x) { return relu_gate(x); }

// Φ(x) + x · φ(x), with the bell curve φ
double gelu_slope(double x) {
  return gelu_gate(x) + x * std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi);
}

// The gate is ½ (1 + tanh u), so it grows by 2 · gate · (1 − gate) · u'.
double gelu_tanh_slope(double x) {
  const double gate = gelu_tanh_gate(x);
  const double u = std::sqrt(2.0 / std::numbers::pi) * (1.0 + 3.0 * 0.044715 * x * x);
  return gate + x * 2.0 * gate * (1.0 - gate) * u;
}

// σ · (1 + x · (1 − σ)): σ grows by σ · (1 − σ).
double silu_slope(double x) {
  const double gate = silu_gate(x);
  return gate + x * gate * (1.0 - gate);
}

template <double (*gate)(double)>
void forward(const OpArgs& args) {
  const auto x = args.in[0].cells();
  for (std::size_t i = 0; i < x.size(); ++i) {
    args.result[i] = static_cast<float>(x[i] * gate(x[i]));
  }
}

// dx += dy · slope(x), cell by cell
template <double (*slope)(double)>
void backward(const OpGradArgs& args) {
  const auto x = args.in[0].cells();
  for (std::size_t i = 0; args.d_in[0] && i < x.size(); ++i) {
    args.d_in[0][i] = static_cast<float>(args.d_in[0][i] + args.d_out[i] * slope(x[i]));
  }
}

template <double (*gate)(double)>
OpExplanation explain_gate(const OpArgs& args, std::span<const std::int64_t> index,
                           const char* formula) {
  const std::vector<std::int64_t> cell(index.begin(), index.end());
  const double x = args.in[0].at(cell);
  return {{{{0, cell}, x, gate(x), {}, "gate"}}, {{"gate", gate(x)}}, formula};
}

// x × Φ(x) = x × gate
MathLine gate_line(const OpExplanation& e, const std::string& text, const std::string& latex) {
  const double x = e.terms[0].value, gate = e.terms[0].factor;
  return {math(x),   math(" × " + text + "(", " \\times " + latex + "("),
          math(x),   math(") = ", ") = "),
          math(x),   math(" × ", " \\times "),
          math(gate)};
}

OpExplanation relu_explain(const OpArgs& args, std::span<const std::int64_t> index) {
  OpExplanation e = explain_gate<relu_gate>(args, index, "max(x, 0) = x · [x > 0]");
  e.written = {math("max(", "\\max("), math(e.terms[0].value), math(", 0)", ", 0)")};
  return e;
}
OpExplanation gelu_explain(const OpArgs& args, std::span<const std::int64_t> index) {
  OpExplanation e = explain_gate<gelu_gate>(args, index, "x · Φ(x) = x · (1 + erf(x / √2)) / 2");
  e.written = gate_line(e, "Φ", "\\Phi");
  return e;
}
OpExplanation gelu_tanh_explain(const OpArgs& args, std::span<const std::int64_t> index) {
  OpExplanation e =
      explain_gate<gelu_tanh_gate>(args, index, "x · (1 + tanh(√(2/π) · (x + 0.044715 x³))) / 2");
  e.written = gate_line(e, "g", "g");
  return e;
}

OpExplanation silu_explain(const OpArgs& args, std::span<const std::int64_t> index) {
  OpExplanation e = explain_gate<silu_gate>(args, index, "x · σ(x) = x / (1 + exp(−x))");
  e.written = gate_line(e, "σ", "\\sigma");
  return e;
}

// dy · (gate + x · gate'): what is behind the gate is the slope without it.
template <double (*gate)(double), double (*slope)(double)>
OpExplanation explain_slope(const OpGradArgs& args, std::span<const std::int64_t> index,
                            const char* formula, const char* note) {
  const std::vector<std::int64_t> cell(index.begin(), index.end());
  const double x = args.in[0].at(cell), rise = slope(x);
  OpTerm term = gradient_term(args, cell, rise, {{0, cell}}, note);
  const double bend = rise - gate(x);
  if (bend == 0) {
    term.written = {math(rise)};
  } else {
    term.written = {math("(", "("), math(gate(x)), math(" + ", " + "), math(bend), math(")", ")")};
  }
  OpExplanation result{{}, {{"gate", gate(x)}, {"slope", rise}}, formula};
  result.written = {math(term.value), math(" × ", " \\times ")};
  result.written.insert(result.written.end(), term.written.begin(), term.written.end());
  result.terms.push_back(std::move(term));
  return result;
}

OpExplanation relu_explain_gradient(const OpGradArgs& args, int,
                                    std::span<const std::int64_t> index) {
  return explain_slope<relu_gate, relu_slope>(args, index, "dy · [x > 0]", "[x > 0]");
}
OpExplanation gelu_explain_gradient(const OpGradArgs& args, int,
                                    std::span<const std::int64_t> index) {
  return explain_slope<gelu_gate, gelu_slope>(
      args, index, "dy · (Φ(x) + x · φ(x)), φ(x) = exp(−x² / 2) / √(2π)", "Φ(x) + x · φ(x)");
}
OpExplanation gelu_tanh_explain_gradient(const OpGradArgs& args, int,
                                         std::span<const std::int64_t> index) {
  return explain_slope<gelu_tanh_gate, gelu_tanh_slope>(
      args, index, "dy · (g + x · 2 g (1 − g) · √(2/π) · (1 + 3 · 0.044715 x²)), with the gate g",
      "g + x · g', with the gate g");
}

OpExplanation silu_explain_gradient(const OpGradArgs& args, int,
                                    std::span<const std::int64_t> index) {
  return explain_slope<silu_gate, silu_slope>(args, index, "dy · (σ(x) + x · σ(x) · (1 − σ(x)))",
                                              "σ(x) + x · σ(x) · (1 − σ(x))");
}

template <double (*gate)(double)>
double curve(double x) {
  return x * gate(x);
}

// x, the gate, and what the run made of them.
template <double (*gate)(double)>
OpRow open_row(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t n = args.out.axes.back().size;
  const std::int64_t begin = flat_index(args.out.axes, index) - index.back();
  const float* x = args.in[0].data + begin;
  const float* y = args.out.data + begin;
  RowLine gates{"gate", {}};
  for (std::int64_t i = 0; i < n; ++i) gates.values.push_back(gate(x[i]));
  return {{}, {{"x", {x, x + n}}, std::move(gates), {"activated", {y, y + n}}}};
}

std::vector<Pane> panes(const OpArgs& args, std::int64_t) {
  return {matrix_pane(args.in[0], 0, PaneRole::kOperand, 0),
          matrix_pane(args.out, -1, PaneRole::kResult, 0)};
}

TrialShapes trial(const TrialSizes& z) { return {{z.b, z.t, z.n}}; }

// ---- as code ----

std::string relu_numpy(const CodeArgs& c) {
  return c.out + " = np.maximum(" + c.in[0] + ", 0)  # negative numbers become 0\n";
}
std::string relu_torch(const CodeArgs& c) { return c.out + " = F.relu(" + c.in[0] + ")\n"; }

// NumPy has no erf of its own; Python's math has.
std::string gelu_numpy(const CodeArgs& c) {
  return "erf = np.vectorize(math.erf)\n" + c.out + " = " + c.in[0] + " * 0.5 * (1 + erf(" +
         c.in[0] + " / np.sqrt(2)))\n";
}
std::string gelu_torch(const CodeArgs& c) { return c.out + " = F.gelu(" + c.in[0] + ")\n"; }

std::string gelu_tanh_numpy(const CodeArgs& c) {
  const std::string& x = c.in[0];
  return "inner = np.sqrt(2 / np.pi) * (" + x + " + 0.044715 * " + x + "**3)\n" + c.out + " = " +
         x + " * 0.5 * (1 + np.tanh(inner))\n";
}
std::string gelu_tanh_torch(const CodeArgs& c) {
  return c.out + " = F.gelu(" + c.in[0] + ", approximate=\"tanh\")\n";
}

std::string silu_numpy(const CodeArgs& c) {
  return c.out + " = " + c.in[0] + " / (1 + np.exp(-" + c.in[0] + "))\n";
}
std::string silu_torch(const CodeArgs& c) { return c.out + " = F.silu(" + c.in[0] + ")\n"; }

}  // namespace

const OpInfo& relu_op() {
  static const OpInfo info{
      .op = Op::kRelu,
      .id = "relu",
      .phrase = "negative numbers become 0",
      .shape = shape,
      .forward = forward<relu_gate>,
      .backward = backward<relu_slope>,
      .explain = relu_explain,
      .explain_gradient = relu_explain_gradient,
      .panes = panes,
      .numpy = relu_numpy,
      .torch = relu_torch,
      .detail = Detail::kCurve,
      .open_row = open_row<relu_gate>,
      .curve = curve<relu_gate>,
      .trials = {trial},
      .keeps_place = true,
  };
  return info;
}

const OpInfo& gelu_op() {
  static const OpInfo info{
      .op = Op::kGelu,
      .id = "gelu",
      .phrase = "x times the normal distribution function of x",
      .shape = shape,
      .forward = forward<gelu_gate>,
      .backward = backward<gelu_slope>,
      .explain = gelu_explain,
      .explain_gradient = gelu_explain_gradient,
      .panes = panes,
      .numpy = gelu_numpy,
      .torch = gelu_torch,
      .detail = Detail::kCurve,
      .open_row = open_row<gelu_gate>,
      .curve = curve<gelu_gate>,
      .errors = ErrorClass::kRows,
      .work = {.flops = 50},
      .trials = {trial},
      .keeps_place = true,
      .keeps_slope = true,
  };
  return info;
}

const OpInfo& gelu_tanh_op() {
  static const OpInfo info{
      .op = Op::kGeluTanh,
      .id = "gelu_tanh",
      .phrase = "x times a tanh form of the normal distribution function",
      .shape = shape,
      .forward = forward<gelu_tanh_gate>,
      .backward = backward<gelu_tanh_slope>,
      .explain = gelu_tanh_explain,
      .explain_gradient = gelu_tanh_explain_gradient,
      .panes = panes,
      .numpy = gelu_tanh_numpy,
      .torch = gelu_tanh_torch,
      .detail = Detail::kCurve,
      .open_row = open_row<gelu_tanh_gate>,
      .curve = curve<gelu_tanh_gate>,
      .errors = ErrorClass::kRows,
      .work = {.flops = 50},
      .trials = {trial},
      .keeps_place = true,
      .keeps_slope = true,
  };
  return info;
}

const OpInfo& silu_op() {
  static const OpInfo info{
      .op = Op::kSilu,
      .id = "silu",
      .phrase = "x times the logistic function of x",

      .shape = shape,
      .forward = forward<silu_gate>,
      .backward = backward<silu_slope>,
      .explain = silu_explain,
      .explain_gradient = silu_explain_gradient,
      .panes = panes,
      .numpy = silu_numpy,
      .torch = silu_torch,
      .detail = Detail::kCurve,
      .open_row = open_row<silu_gate>,
      .curve = curve<silu_gate>,
      .errors = ErrorClass::kRows,
      .work = {.flops = 50},
      .trials = {trial},
      .keeps_place = true,
      .keeps_slope = true,
  };
  return info;
}

}  // namespace headlight
