// Multiplication of two tensors of one shape, cell by cell: one half of a gated feed-forward
// network says how much of the other passes (Dauphin et al. 2016; Shazeer 2020).
#include "core/ops/op.h"

namespace headlight {
namespace {

// a, b of equal sizes -> the axes of a
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  return same_shape("multiply", in, 2);
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
      .numpy = code,
      .torch = code,
      .detail = Detail::kRow,
      .open_row = open_row,
      .trials = {"b t n, b t n"},
      .row_by_row = true,
      .gradient_reads = {.inputs = {true, true}, .result = false},
  };
  return info;
}

}  // namespace headlight
