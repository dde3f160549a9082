// One factor for every cell: ÷ √d_head keeps the scores' spread independent of the head's width.
#include "core/ops/op.h"

namespace headlight {
namespace {

// x -> the axes of x
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("scale", in, 1, 1);
  return {in[0].axes.begin(), in[0].axes.end()};
}

// y = factor · x
void forward(const OpArgs& args) {
  const auto x = args.in[0].cells();
  for (std::size_t i = 0; i < x.size(); ++i) args.result[i] = x[i] * args.params.factor;
}

OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::vector<std::int64_t> cell(index.begin(), index.end());
  return {{{{0, cell}, args.in[0].at(cell), args.params.factor, {}, "1 / √d_head"}},
          {{"factor", args.params.factor}},
          "S[i, j] / √d_head"};
}

std::vector<Pane> panes(const OpArgs& args, std::int64_t head) {
  return {matrix_pane(args.in[0], 0, PaneRole::kOperand, head),
          matrix_pane(args.out, -1, PaneRole::kResult, head)};
}

}  // namespace

const OpInfo& scale_op() {
  static const OpInfo info{
      Op::kScale, "scale", "divided by √d_head", Layout::kRow, "", shape, forward, explain, panes};
  return info;
}

}  // namespace headlight
