// All tokens' rows side by side as one long row: the plainest way to keep everything that a
// sentence says, and the reason why a reader of it needs a weight for each place of each token.
#include "core/ops/op.h"

namespace headlight {
namespace {

// x (batch, position, feature), present (batch, position) -> (batch, place)
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("concat_tokens", in, 2, 2);
  const auto &x = in[0].axes, &m = in[1].axes;
  const bool fits =
      x.size() == 3 && m.size() == 2 && x[0].size == m[0].size && x[1].size == m[1].size;
  if (!fits)
    shape_error("concat_tokens", in, "x (batch, position, feature) and present (batch, position)");
  return {x[0], {"place", x[1].size * x[2].size}};
}

// y[b, t · width + f] = x[b, t, f], or 0 where token t is padding
void forward(const OpArgs& args) {
  const std::int64_t width = args.in[0].axes[2].size;
  for (std::int64_t i = 0; i < args.out.size(); ++i)
    args.result[i] = args.in[1].data[i / width] != 0 ? args.in[0].data[i] : 0.0f;
}

// dx[b, t, f] += dy[b, t · width + f], where token t is not padding
void backward(const OpGradArgs& args) {
  const std::int64_t width = args.in[0].axes[2].size;
  for (std::int64_t i = 0; args.d_in[0] && i < args.in[0].size(); ++i) {
    if (args.in[1].data[i / width] != 0) args.d_in[0][i] += args.d_out[i];
  }
}

OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t width = args.in[0].axes[2].size, t = index[1] / width;
  const std::vector<std::int64_t> cell = {index[0], t, index[1] % width}, counts = {index[0], t};
  const bool here = args.in[1].at(counts) != 0;
  OpTerm term{{0, cell}, args.in[0].at(cell), here ? 1.0 : 0.0, {}, ""};
  if (!here) term.note = Message("explain.note.padding");
  return {{term}, {}, "x[t, f]"};
}

OpExplanation explain_gradient(const OpGradArgs& args, int input,
                               std::span<const std::int64_t> index) {
  if (input != 0) return without_gradient();
  const std::vector<std::int64_t> counts = {index[0], index[1]};
  const std::string formula = "dy[t, f]";
  if (args.in[1].at(counts) == 0) return zero_gradient(formula, "explain.padding");
  const std::int64_t width = args.in[0].axes[2].size;
  return {{gradient_term(args, {index[0], index[1] * width + index[2]})}, {}, formula};
}

// The long row is folded: a line for each token, so that it stands as wide as x.
std::vector<Pane> panes(const OpArgs& args, std::int64_t) {
  const Pane x = matrix_pane(args.in[0], 0, PaneRole::kOperand, 0);
  Pane result = x;
  result.input = -1;
  result.role = PaneRole::kResult;
  return {x, result};
}

std::string code(const CodeArgs& c) {
  return c.out + " = (" + c.in[0] + " * (" + c.in[1] + " != 0)[:, None]).reshape(-1)  # " +
         code_shape(c.args.in[0]) + " -> " + code_shape(c.args.out) + "\n";
}

}  // namespace

const OpInfo& concat_tokens_op() {
  static const OpInfo info{
      .op = Op::kConcatTokens,
      .id = "concat_tokens",
      .phrase = "all tokens' rows side by side",
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .panes = panes,
      .numpy = code,
      .torch = code,
      .inputs = {InputKind::kNumbers, InputKind::kPresence},
      .trials = {"b t n, b t"},
      .gradient_reads = {.inputs = {false, true}, .result = false},
  };
  return info;
}

}  // namespace headlight
