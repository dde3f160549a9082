// Activations of the feed-forward network: ReLU, and GELU (Hendrycks, Gimpel 2016) in both forms.
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

// Each of the three is x times a gate between 0 and 1.
double relu_gate(double x) { return x > 0 ? 1.0 : 0.0; }

// Φ(x), the normal distribution function
double gelu_gate(double x) { return 0.5 * (1.0 + std::erf(x / std::numbers::sqrt2)); }

// its approximation by a tanh, as in GPT-2
double gelu_tanh_gate(double x) {
  const double c = std::sqrt(2.0 / std::numbers::pi);
  return 0.5 * (1.0 + std::tanh(c * (x + 0.044715 * x * x * x)));
}

template <double (*gate)(double)>
void forward(const OpArgs& args) {
  const auto x = args.in[0].cells();
  for (std::size_t i = 0; i < x.size(); ++i) {
    args.result[i] = static_cast<float>(x[i] * gate(x[i]));
  }
}

template <double (*gate)(double)>
OpExplanation explain_gate(const OpArgs& args, std::span<const std::int64_t> index,
                           const char* formula) {
  const std::vector<std::int64_t> cell(index.begin(), index.end());
  const double x = args.in[0].at(cell);
  return {{{{0, cell}, x, gate(x), {}, "gate"}}, {{"gate", gate(x)}}, formula};
}

OpExplanation relu_explain(const OpArgs& args, std::span<const std::int64_t> index) {
  return explain_gate<relu_gate>(args, index, "max(x, 0) = x · [x > 0]");
}
OpExplanation gelu_explain(const OpArgs& args, std::span<const std::int64_t> index) {
  return explain_gate<gelu_gate>(args, index, "x · Φ(x) = x · (1 + erf(x / √2)) / 2");
}
OpExplanation gelu_tanh_explain(const OpArgs& args, std::span<const std::int64_t> index) {
  return explain_gate<gelu_tanh_gate>(args, index,
                                      "x · (1 + tanh(√(2/π) · (x + 0.044715 x³))) / 2");
}

std::vector<Pane> panes(const OpArgs& args, std::int64_t) {
  return {matrix_pane(args.in[0], 0, PaneRole::kOperand, 0),
          matrix_pane(args.out, -1, PaneRole::kResult, 0)};
}

}  // namespace

const OpInfo& relu_op() {
  static const OpInfo info{Op::kRelu,          "relu",       "negative numbers become 0",
                           Layout::kRow,       "",           shape,
                           forward<relu_gate>, relu_explain, panes};
  return info;
}

const OpInfo& gelu_op() {
  static const OpInfo info{
      Op::kGelu,          "gelu",       "x times the normal distribution function of x",
      Layout::kRow,       "",           shape,
      forward<gelu_gate>, gelu_explain, panes};
  return info;
}

const OpInfo& gelu_tanh_op() {
  static const OpInfo info{Op::kGeluTanh,
                           "gelu_tanh",
                           "x times a tanh form of the normal distribution function",
                           Layout::kRow,
                           "",
                           shape,
                           forward<gelu_tanh_gate>,
                           gelu_tanh_explain,
                           panes};
  return info;
}

}  // namespace headlight
