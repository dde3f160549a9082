// The weights averaged over the heads: what the field's modules give where weights are asked for
// (need_weights, average_attn_weights). Nothing in the model reads it.
#include <algorithm>

#include "core/ops/op.h"

namespace headlight {
namespace {

// A (batch, head, query, key) -> (batch, query, key)
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("mean_heads", in, 1, 1);
  const auto& a = in[0].axes;
  if (a.size() != 4 || a[1].size < 1) shape_error("mean_heads", in, "A (batch, head, query, key)");
  return {a[0], a[2], a[3]};
}

// y[b, i, j] = Σ_h A[b, h, i, j] / H
void forward(const OpArgs& args) {
  const auto& a = args.in[0].axes;
  const std::int64_t heads = a[1].size, cells = a[2].size * a[3].size;
  for (std::int64_t i = 0; i < args.out.size(); ++i) {
    const float* first = args.in[0].data + i / cells * heads * cells + i % cells;
    double sum = 0;
    for (std::int64_t h = 0; h < heads; ++h) sum += first[h * cells];
    args.result[i] = static_cast<float>(sum / static_cast<double>(heads));
  }
}

// dA[b, h, i, j] += dy[b, i, j] / H
void backward(const OpGradArgs& args) {
  const auto& a = args.in[0].axes;
  const std::int64_t heads = a[1].size, cells = a[2].size * a[3].size;
  for (std::int64_t i = 0; args.d_in[0] && i < args.in[0].size(); ++i) {
    const double d = args.d_out[i / (heads * cells) * cells + i % cells];
    args.d_in[0][i] = static_cast<float>(args.d_in[0][i] + d / static_cast<double>(heads));
  }
}

OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  OpExplanation result;
  result.formula = "Σ_h [[x0]][h, i, j] / H";
  const std::int64_t heads = args.in[0].axes[1].size;
  for (std::int64_t h = 0; h < heads; ++h) {
    const std::vector<std::int64_t> cell = {index[0], h, index[1], index[2]};
    result.terms.push_back(
        {{0, cell}, args.in[0].at(cell), 1.0 / static_cast<double>(heads), {}, "1 / H"});
  }
  return result;
}

OpExplanation explain_gradient(const OpGradArgs& args, int, std::span<const std::int64_t> index) {
  const double slope = 1.0 / static_cast<double>(args.in[0].axes[1].size);
  return {{gradient_term(args, {index[0], index[2], index[3]}, slope, {}, "1 / H")},
          {},
          "[[d]][i, j] / H"};
}

// All heads while they have room, else the chosen one.
constexpr std::int64_t kMostShown = 8;

std::vector<Pane> panes(const OpArgs& args, std::int64_t head) {
  const std::int64_t heads = args.in[0].axes[1].size;
  const bool all = heads <= kMostShown;
  const std::int64_t first = all ? 0 : std::min(head, heads - 1), past = all ? heads : first + 1;
  std::vector<Pane> result;
  for (std::int64_t h = first; h < past; ++h) {
    result.push_back(matrix_pane(args.in[0], 0, PaneRole::kOperand, h));
    result.back().head_columns = args.in[0].axes[3].size;
    result.back().first_head = h;
  }
  result.push_back(matrix_pane(args.out, -1, PaneRole::kResult, 0));
  return result;
}

std::string numpy(const CodeArgs& c) {
  return c.out + " = " + c.in[0] + ".mean(axis=0)  # over the heads: " + code_shape(c.args.in[0]) +
         " -> " + code_shape(c.args.out) + "\n";
}
std::string torch(const CodeArgs& c) {
  return c.out + " = " + c.in[0] + ".mean(dim=0)  # over the heads: " + code_shape(c.args.in[0]) +
         " -> " + code_shape(c.args.out) + "\n";
}

}  // namespace

const OpInfo& mean_heads_op() {
  static const OpInfo info{
      .op = Op::kMeanHeads,
      .id = "mean_heads",
      .phrase = "the mean over the heads",
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .panes = panes,
      .numpy = numpy,
      .torch = torch,
      .errors = ErrorClass::kProducts,
      .work = {.flops = 1, .per = WorkPer::kInputCell},
      .trials = {"b h t s", "b 1 t s"},
      .gradient_reads = {.inputs = {}, .result = false},
  };
  return info;
}

}  // namespace headlight
