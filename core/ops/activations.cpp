// Functions of single numbers in the feed-forward network: ReLU, GELU in both forms and SiLU
// (Hendrycks, Gimpel 2016). That of pooling and of capped scores stands in tanh.cpp.
#include <cmath>
#include <numbers>

#include "core/ops/op.h"

namespace headlight {
namespace {

// x -> the axes of x
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  return same_shape("activation", in, 1);
}

// Each activation is x times a gate between 0 and 1. What one of them is: the gate, the slope of
// x · gate(x), which is gate(x) + x · gate'(x), and how both are written.

struct Relu {
  static double gate(double x) { return x > 0 ? 1.0 : 0.0; }
  static double slope(double x) { return gate(x); }
  static constexpr const char *kFormula = "max(x, 0) = x · [x > 0]", *kGradient = "dy · [x > 0]",
                              *kSlope = "[x > 0]";
  static MathLine written(double x, double) {
    return {math("max(", "\\max("), math(x), math(", 0)", ", 0)")};
  }
  static std::string numpy(const CodeArgs& c) {
    return c.out + " = np.maximum(" + c.in[0] + ", 0)  # negative numbers become 0\n";
  }
  static std::string torch(const CodeArgs& c) { return c.out + " = F.relu(" + c.in[0] + ")\n"; }
};

// x × Φ(x) = x × gate
MathLine gate_line(double x, double gate, const std::string& text, const std::string& latex) {
  return {math(x),   math(" × " + text + "(", " \\times " + latex + "("),
          math(x),   math(") = ", ") = "),
          math(x),   math(" × ", " \\times "),
          math(gate)};
}

struct Gelu {
  // Φ(x), the normal distribution function
  static double gate(double x) { return 0.5 * (1.0 + std::erf(x / std::numbers::sqrt2)); }
  // Φ(x) + x · φ(x), with the bell curve φ
  static double slope(double x) {
    return gate(x) + x * std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi);
  }
  static constexpr const char *kFormula = "x · Φ(x) = x · (1 + erf(x / √2)) / 2",
                              *kGradient = "dy · (Φ(x) + x · φ(x)), φ(x) = exp(−x² / 2) / √(2π)",
                              *kSlope = "Φ(x) + x · φ(x)";
  static MathLine written(double x, double gate) { return gate_line(x, gate, "Φ", "\\Phi"); }
  // NumPy has no erf of its own; Python's math has.
  static std::string numpy(const CodeArgs& c) {
    return "erf = np.vectorize(math.erf)\n" + c.out + " = " + c.in[0] + " * 0.5 * (1 + erf(" +
           c.in[0] + " / np.sqrt(2)))\n";
  }
  static std::string torch(const CodeArgs& c) { return c.out + " = F.gelu(" + c.in[0] + ")\n"; }
};

// GELU's approximation by a tanh, as in GPT-2
struct GeluTanh {
  static double gate(double x) {
    const double c = std::sqrt(2.0 / std::numbers::pi);
    return 0.5 * (1.0 + std::tanh(c * (x + 0.044715 * x * x * x)));
  }
  // The gate is ½ (1 + tanh u), so it grows by 2 · gate · (1 − gate) · u'.
  static double slope(double x) {
    const double g = gate(x);
    const double u = std::sqrt(2.0 / std::numbers::pi) * (1.0 + 3.0 * 0.044715 * x * x);
    return g + x * 2.0 * g * (1.0 - g) * u;
  }
  static constexpr const char *kFormula = "x · (1 + tanh(√(2/π) · (x + 0.044715 x³))) / 2",
                              *kGradient =
                                  "dy · (g + x · 2 g (1 − g) · √(2/π) · (1 + 3 · 0.044715 x²)), "
                                  "g = (1 + tanh(√(2/π) · (x + 0.044715 x³))) / 2",
                              *kSlope = "g + x · g'";
  static MathLine written(double x, double gate) { return gate_line(x, gate, "g", "g"); }
  static std::string numpy(const CodeArgs& c) {
    const std::string& x = c.in[0];
    return "inner = np.sqrt(2 / np.pi) * (" + x + " + 0.044715 * " + x + "**3)\n" + c.out + " = " +
           x + " * 0.5 * (1 + np.tanh(inner))\n";
  }
  static std::string torch(const CodeArgs& c) {
    return c.out + " = F.gelu(" + c.in[0] + ", approximate=\"tanh\")\n";
  }
};

struct Silu {
  // the logistic function
  static double gate(double x) { return 1.0 / (1.0 + std::exp(-x)); }
  // σ · (1 + x · (1 − σ)): σ grows by σ · (1 − σ).
  static double slope(double x) {
    const double g = gate(x);
    return g + x * g * (1.0 - g);
  }
  static constexpr const char *kFormula = "x · σ(x) = x / (1 + exp(−x))",
                              *kGradient = "dy · (σ(x) + x · σ(x) · (1 − σ(x)))",
                              *kSlope = "σ(x) + x · σ(x) · (1 − σ(x))";
  static MathLine written(double x, double gate) { return gate_line(x, gate, "σ", "\\sigma"); }
  static std::string numpy(const CodeArgs& c) {
    return c.out + " = " + c.in[0] + " / (1 + np.exp(-" + c.in[0] + "))\n";
  }
  static std::string torch(const CodeArgs& c) { return c.out + " = F.silu(" + c.in[0] + ")\n"; }
};

template <class A>
double value(double x, const OpParams&) {
  return x * A::gate(x);
}

template <class A>
void forward(const OpArgs& args) {
  const auto x = args.in[0].cells();
  for (std::size_t i = 0; i < x.size(); ++i)
    args.result[i] = static_cast<float>(value<A>(x[i], args.params));
}

// dx += dy · slope(x), cell by cell
template <class A>
void backward(const OpGradArgs& args) {
  const auto x = args.in[0].cells();
  for (std::size_t i = 0; args.d_in[0] && i < x.size(); ++i) {
    args.d_in[0][i] = static_cast<float>(args.d_in[0][i] + args.d_out[i] * A::slope(x[i]));
  }
}

template <class A>
OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::vector<std::int64_t> cell(index.begin(), index.end());
  const double x = args.in[0].at(cell), gate = A::gate(x);
  return {{{{0, cell}, x, gate, {}, Message("explain.note.gate")}},
          {{"gate", gate}},
          A::kFormula,
          A::written(x, gate)};
}

// dy · (gate + x · gate'): what is behind the gate is the slope without it.
template <class A>
OpExplanation explain_gradient(const OpGradArgs& args, int, std::span<const std::int64_t> index) {
  const std::vector<std::int64_t> cell(index.begin(), index.end());
  const double x = args.in[0].at(cell), gate = A::gate(x), slope = A::slope(x);
  OpTerm term = gradient_term(args, cell, slope, {{0, cell}}, A::kSlope);
  const double rest = slope - gate;
  OpExplanation result{{}, {{"gate", gate}, {"slope", slope}}, A::kGradient};
  if (rest == 0) {
    term.written = {math(slope)};
  } else {
    term.written = {math("(", "("), math(gate), math(" + ", " + "), math(rest), math(")", ")")};
  }
  result.written = {math(term.value), math(" × ", " \\times ")};
  result.written.insert(result.written.end(), term.written.begin(), term.written.end());
  result.terms.push_back(std::move(term));
  return result;
}

// x, the gate, and what the run made of them.
template <class A>
OpRow open_row(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t n = args.out.axes.back().size;
  const std::int64_t begin = flat_index(args.out.axes, index) - index.back();
  const float *x = args.in[0].data + begin, *y = args.out.data + begin;
  OpRow row{{}, {{"x", {x, x + n}}}};
  RowLine gates{"gate", {}};
  for (std::int64_t i = 0; i < n; ++i) gates.values.push_back(A::gate(x[i]));
  row.lines.push_back(std::move(gates));
  row.lines.push_back({"activated", {y, y + n}});
  return row;
}

template <class A>
OpInfo activation(Op op, std::string_view id, std::string_view phrase) {
  return {
      .op = op,
      .id = id,
      .phrase = phrase,
      .shape = shape,
      .forward = forward<A>,
      .backward = backward<A>,
      .explain = explain<A>,
      .explain_gradient = explain_gradient<A>,
      .numpy = A::numpy,
      .torch = A::torch,
      .detail = Detail::kCurve,
      .open_row = open_row<A>,
      .curve = value<A>,
      .errors = ErrorClass::kRows,
      .work = {.flops = 50},
      .trials = {"b t n"},
      .keeps_place = true,
      .row_by_row = true,
      .keeps_slope = true,
      .gradient_reads = {.inputs = {true}, .result = false},
  };
}

}  // namespace

const OpInfo& relu_op() {
  static const OpInfo info = [] {
    OpInfo relu = activation<Relu>(Op::kRelu, "relu", "negative numbers become 0");
    relu.errors = ErrorClass::kCells;
    relu.work = {};
    relu.keeps_slope = false;
    return relu;
  }();
  return info;
}

const OpInfo& gelu_op() {
  static const OpInfo info = [] {
    OpInfo gelu =
        activation<Gelu>(Op::kGelu, "gelu", "x times the normal distribution function of x");
    gelu.timed = {{TunePart::kCells, "b t n"}};
    return gelu;
  }();
  return info;
}

const OpInfo& gelu_tanh_op() {
  static const OpInfo info = activation<GeluTanh>(
      Op::kGeluTanh, "gelu_tanh", "x times a tanh form of the normal distribution function");
  return info;
}

const OpInfo& silu_op() {
  static const OpInfo info =
      activation<Silu>(Op::kSilu, "silu", "x times the logistic function of x");
  return info;
}

}  // namespace headlight
