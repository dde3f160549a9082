// Dropout (Srivastava et al. 2014): in training, some numbers are left out by chance and the others
// grow to make up for it. What is left out is an input, so that a run can be made again.
#include "core/ops/op.h"

namespace headlight {
namespace {

// x, m of equal sizes -> the axes of x
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  return same_shape("dropout", in, 2);
}

// y = m · x, cell by cell, where m is 0 for what is left out and 1 / (1 − p) for the rest
void forward(const OpArgs& args) {
  const auto x = args.in[0].cells(), m = args.in[1].cells();
  for (std::size_t i = 0; i < x.size(); ++i) args.result[i] = m[i] * x[i];
}

// dx += m · dy
void backward(const OpGradArgs& args) {
  const auto m = args.in[1].cells();
  for (std::size_t i = 0; args.d_in[0] && i < m.size(); ++i) {
    args.d_in[0][i] =
        static_cast<float>(args.d_in[0][i] + static_cast<double>(m[i]) * args.d_out[i]);
  }
}

OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::vector<std::int64_t> cell(index.begin(), index.end());
  return {{{{0, cell}, args.in[0].at(cell), args.in[1].at(cell), {{1, cell}}, ""}}, {}, "m · x"};
}

OpExplanation explain_gradient(const OpGradArgs& args, int input,
                               std::span<const std::int64_t> index) {
  if (input != 0) return without_gradient();
  const std::vector<std::int64_t> cell(index.begin(), index.end());
  return {{gradient_term(args, cell, args.in[1].at(cell), {{1, cell}})}, {}, "m · dy"};
}

std::string code(const CodeArgs& c) {
  return c.out + " = " + c.in[0] + " * " + c.in[1] + "  # " + code_shape(c.args.out) + "\n";
}

}  // namespace

const OpInfo& dropout_op() {
  static const OpInfo info{
      .op = Op::kDropout,
      .id = "dropout",
      .phrase = "some numbers are left out by chance",
      .sign = "·",
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .numpy = code,
      .torch = code,
      .inputs = {InputKind::kNumbers, InputKind::kDropout},
      .trials = {"b h t s, b h t s"},
      .row_by_row = true,
      .gradient_reads = {.inputs = {false, true}, .result = false},
  };
  return info;
}

}  // namespace headlight
