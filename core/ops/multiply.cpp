// Multiplication of two tensors of one shape, cell by cell: one half of a gated feed-forward
// network says how much of the other passes (Dauphin et al. 2016; Shazeer 2020).
#include "core/ops/op.h"

namespace headlight {
namespace {

// a, b of equal sizes -> the axes of a
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("multiply", in, 2, 2);
  bool same = in[0].axes.size() == in[1].axes.size();
  for (std::size_t i = 0; same && i < in[0].axes.size(); ++i) {
    same = in[0].axes[i].size == in[1].axes[i].size;
  }
  if (!same) shape_error("multiply", in, "two tensors of one shape");
  return {in[0].axes.begin(), in[0].axes.end()};
}

// y = a · b, cell by cell
void forward(const OpArgs& args) {
  const auto a = args.in[0].cells();
  const auto b = args.in[1].cells();
  for (std::size_t i = 0; i < a.size(); ++i) args.result[i] = a[i] * b[i];
}

// da += dy · b and db += dy · a
void backward(const OpGradArgs& args) {
  for (std::size_t input = 0; input < 2; ++input) {
    float* d = args.d_in[input];
    const auto other = args.in[1 - input].cells();
    for (std::size_t i = 0; d && i < other.size(); ++i) {
      d[i] = static_cast<float>(d[i] + static_cast<double>(args.d_out[i]) * other[i]);
    }
  }
}

OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::vector<std::int64_t> cell(index.begin(), index.end());
  const double a = args.in[0].at(cell), b = args.in[1].at(cell);
  return {{{{0, cell}, a, b, {{1, cell}}, ""}},
          {},
          "a[t, h] · b[t, h]",
          {math(a), math(" × ", " \\times "), math(b)}};
}

OpExplanation explain_gradient(const OpGradArgs& args, int input,
                               std::span<const std::int64_t> index) {
  const std::vector<std::int64_t> cell(index.begin(), index.end());
  const int other = 1 - input;
  return {{gradient_term(args, cell, args.in[static_cast<std::size_t>(other)].at(cell),
                         {{other, cell}})},
          {},
          input == 0 ? "dy[t, h] · b[t, h]" : "dy[t, h] · a[t, h]"};
}

// Both operands, and what the run made of them.
OpRow open_row(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t n = args.out.axes.back().size;
  const std::int64_t begin = flat_index(args.out.axes, index) - index.back();
  const auto row = [&](const TensorView& t) {
    return std::vector<double>(t.data + begin, t.data + begin + n);
  };
  return {{},
          {{"factor", row(args.in[0])},
           {"times", row(args.in[1]), false, 1},
           {"product", row(args.out)}}};
}

std::vector<Pane> panes(const OpArgs& args, std::int64_t head) {
  return {matrix_pane(args.in[0], 0, PaneRole::kOperand, head),
          matrix_pane(args.in[1], 1, PaneRole::kOperand, head),
          matrix_pane(args.out, -1, PaneRole::kResult, head)};
}

std::string code(const CodeArgs& c) {
  return c.out + " = " + c.in[0] + " * " + c.in[1] + "  # " + code_shape(c.args.out) + "\n";
}

}  // namespace

const OpInfo& multiply_op() {
  static const OpInfo info{
      .op = Op::kMultiply,
      .id = "multiply",
      .phrase = "multiplies cell by cell",
      .sign = "×",
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .panes = panes,
      .numpy = code,
      .torch = code,
      .detail = Detail::kRow,
      .open_row = open_row,
      .trials = {[](const TrialSizes& z) -> TrialShapes {
        return {{z.b, z.t, z.n}, {z.b, z.t, z.n}};
      }},
  };
  return info;
}

}  // namespace headlight
