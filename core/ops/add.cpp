// Addition of two tensors of one shape: positions joining embeddings, the residual stream.
#include "core/ops/op.h"

namespace headlight {
namespace {

// a, b of equal sizes -> the axes of a
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  return same_shape("add", in, 2);
}

// y = a + b, cell by cell
void forward(const OpArgs& args) {
  const auto a = args.in[0].cells();
  const auto b = args.in[1].cells();
  for (std::size_t i = 0; i < a.size(); ++i) args.result[i] = a[i] + b[i];
}

// da += dy and db += dy: each summand feels the sum as it is
void backward(const OpGradArgs& args) {
  const auto cells = static_cast<std::size_t>(args.out.size());
  for (float* d : args.d_in) {
    for (std::size_t i = 0; d && i < cells; ++i) d[i] += args.d_out[i];
  }
}

OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::vector<std::int64_t> cell(index.begin(), index.end());
  return {{{{0, cell}, args.in[0].at(cell), 1.0, {}, ""},
           {{1, cell}, args.in[1].at(cell), 1.0, {}, ""}},
          {},
          "a[t, f] + b[t, f]",
          {math(args.in[0].at(cell)), math(" + ", " + "), math(args.in[1].at(cell))}};
}

OpExplanation explain_gradient(const OpGradArgs& args, int, std::span<const std::int64_t> index) {
  return {{gradient_term(args, {index.begin(), index.end()})}, {}, "dy[t, f]"};
}

std::string code(const CodeArgs& c) {
  return c.out + " = " + c.in[0] + " + " + c.in[1] + "  # " + code_shape(c.args.out) + "\n";
}

}  // namespace

const OpInfo& add_op() {
  static const OpInfo info{
      .op = Op::kAdd,
      .id = "add",
      .phrase = "adds cell by cell",
      .sign = "+",
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .numpy = code,
      .torch = code,
      .trials = {"b t n, b t n"},
      .timed = {{TunePart::kCells, "b t n, b t n"}},
      .shares_gradient = true,
      .row_by_row = true,
      .gradient_reads = {.inputs = {}, .result = false},
  };
  return info;
}

}  // namespace headlight
