// Heads switched off: the weights of a head are multiplied by its number in the mask, 1 or 0, so
// that what it would have gathered is missing (head_mask of the field's modules; Michel et al.
// 2019, "Are Sixteen Heads Really Better than One?").
#include "core/ops/op.h"

namespace headlight {
namespace {

// A (batch, head, query, key), mask (head) -> the axes of A
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("mask_heads", in, 2, 2);
  const bool fits =
      in[0].axes.size() == 4 && in[1].axes.size() == 1 && in[0].axes[1].size == in[1].axes[0].size;
  if (!fits) shape_error("mask_heads", in, "A (batch, head, query, key) and mask (head)");
  return {in[0].axes.begin(), in[0].axes.end()};
}

// y[b, h, i, j] = m[h] · A[b, h, i, j]
void forward(const OpArgs& args) {
  const auto& axes = args.out.axes;
  const std::int64_t cells = axes[2].size * axes[3].size;
  for (std::int64_t i = 0; i < args.out.size(); ++i)
    args.result[i] = args.in[1].data[i / cells % axes[1].size] * args.in[0].data[i];
}

// dA[b, h, i, j] += m[h] · dy[b, h, i, j]
void backward(const OpGradArgs& args) {
  const auto& axes = args.out.axes;
  const std::int64_t cells = axes[2].size * axes[3].size;
  for (std::int64_t i = 0; args.d_in[0] && i < args.out.size(); ++i)
    args.d_in[0][i] += args.in[1].data[i / cells % axes[1].size] * args.d_out[i];
}

OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::vector<std::int64_t> cell(index.begin(), index.end()), head = {index[1]};
  return {{{{0, cell}, args.in[0].at(cell), args.in[1].at(head), {{1, head}}, ""}},
          {},
          "m[h] · [[x0]][i, j]"};
}

OpExplanation explain_gradient(const OpGradArgs& args, int input,
                               std::span<const std::int64_t> index) {
  if (input != 0) return without_gradient();
  const std::vector<std::int64_t> head = {index[1]};
  return {{gradient_term(args, {index.begin(), index.end()}, args.in[1].at(head), {{1, head}})},
          {},
          "m[h] · [[d]][i, j]"};
}

// Of the mask the number of this head.
std::vector<Pane> panes(const OpArgs& args, std::int64_t head) {
  Pane mask = vector_pane(args.in[1], 1, PaneRole::kOperand);
  mask.offset = head;
  mask.columns = 1;
  mask.column_follow = Follow::kFree;
  return {matrix_pane(args.in[0], 0, PaneRole::kOperand, head), mask,
          matrix_pane(args.out, -1, PaneRole::kResult, head)};
}

std::string code(const CodeArgs& c) {
  return c.out + " = " + c.in[1] + "[:, None, None] * " + c.in[0] + "  # a head with 0 is off\n";
}

}  // namespace

const OpInfo& mask_heads_op() {
  static const OpInfo info{
      .op = Op::kMaskHeads,
      .id = "mask_heads",
      .phrase = "a head that is switched off gives 0",
      .sign = "·",
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .panes = panes,
      .numpy = code,
      .torch = code,
      .inputs = {InputKind::kNumbers, InputKind::kPresence},
      .trials = {"b h t s, h"},
      .keeps_place = true,
      .gradient_reads = {.inputs = {false, true}, .result = false},
  };
  return info;
}

}  // namespace headlight
