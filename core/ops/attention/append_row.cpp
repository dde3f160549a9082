// One more key (or value) behind those of the tokens: a learned row of each head, or zeros. What
// the field's modules call bias_k, bias_v and add_zero_attn: a query that finds nothing among the
// tokens has somewhere to look.
#include <algorithm>

#include "core/ops/op.h"

namespace headlight {
namespace {

// x (batch, head, position, d_head), row (head, d_head; without it: zeros)
//   -> (batch, head, position + 1, d_head)
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("append_row", in, 1, 2);
  const auto& x = in[0].axes;
  bool fits = x.size() == 4;
  if (fits && in.size() == 2) {
    const auto& row = in[1].axes;
    fits = row.size() == 2 && row[0].size == x[1].size && row[1].size == x[3].size;
  }
  if (!fits) shape_error("append_row", in, "x (batch, head, position, n) and row (head, n)");
  return {x[0], x[1], {x[2].name, x[2].size + 1}, x[3]};
}

std::int64_t places(const TensorView& x) { return x.axes[2].size; }
std::int64_t width(const TensorView& x) { return x.axes[3].size; }

// y[b, h, j] = x[b, h, j], and behind the last one y[b, h, n] = row[h], or 0
void forward(const OpArgs& args) {
  const TensorView& x = args.in[0];
  const std::int64_t cells = places(x) * width(x), heads = x.axes[1].size;
  float* y = args.result;
  for (std::int64_t bh = 0; bh < x.axes[0].size * heads; ++bh) {
    y = std::copy_n(x.data + bh * cells, cells, y);
    y = args.in.size() > 1 ? std::copy_n(args.in[1].data + bh % heads * width(x), width(x), y)
                           : std::fill_n(y, width(x), 0.0f);
  }
}

// dx[b, h, j] += dy[b, h, j], drow[h] += Σ_b dy[b, h, n]
void backward(const OpGradArgs& args) {
  const TensorView& x = args.in[0];
  const std::int64_t n = width(x), cells = places(x) * n, heads = x.axes[1].size;
  const std::int64_t batch = x.axes[0].size;
  for (std::int64_t bh = 0; args.d_in[0] && bh < batch * heads; ++bh) {
    const float* dy = args.d_out + bh * (cells + n);
    for (std::int64_t i = 0; i < cells; ++i) args.d_in[0][bh * cells + i] += dy[i];
  }
  if (args.in.size() < 2 || !args.d_in[1]) return;
  for (std::int64_t i = 0; i < heads * n; ++i) {
    double sum = args.d_in[1][i];
    for (std::int64_t b = 0; b < batch; ++b)
      sum += args.d_out[(b * heads + i / n) * (cells + n) + cells + i % n];
    args.d_in[1][i] = static_cast<float>(sum);
  }
}

OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  std::vector<std::int64_t> cell(index.begin(), index.end());
  if (index[2] < places(args.in[0]))
    return {{{{0, cell}, args.in[0].at(cell), 1.0, {}, ""}}, {}, "[[x0]][j, d]"};
  if (args.in.size() < 2) {
    OpExplanation result{{}, {}, "0"};
    result.why = "explain.zero_row";
    result.written = {math("0", "0")};
    return result;
  }
  cell = {index[1], index[3]};
  return {{{{1, cell}, args.in[1].at(cell), 1.0, {}, ""}}, {}, "[[x1]][d]"};
}

OpExplanation explain_gradient(const OpGradArgs& args, int input,
                               std::span<const std::int64_t> index) {
  if (input == 0) return {{gradient_term(args, {index.begin(), index.end()})}, {}, "[[d]][j, d]"};
  OpExplanation result;
  result.formula = "[[d]][n, d]";
  for (std::int64_t b = 0; b < args.out.axes[0].size; ++b)
    result.terms.push_back(gradient_term(args, {b, index[0], places(args.in[0]), index[1]}));
  return result;
}

std::vector<Pane> panes(const OpArgs& args, std::int64_t head) {
  const std::int64_t own = std::min(head, args.in[0].axes[1].size - 1);
  std::vector<Pane> all = {matrix_pane(args.in[0], 0, PaneRole::kOperand, own)};
  if (args.in.size() > 1) {
    Pane row = vector_pane(args.in[1], 1, PaneRole::kRowVector);
    row.offset = own * row.columns;
    all.push_back(row);
  }
  all.push_back(matrix_pane(args.out, -1, PaneRole::kResult, own));
  return all;
}

std::string code(const CodeArgs& c, bool torch) {
  const std::string zeros = torch ? "torch.zeros_like(" : "np.zeros_like(";
  const std::string row = c.in.size() > 1 ? c.in[1] + "[:, None]" : zeros + c.in[0] + "[:, :1])";
  return c.out + " = " + (torch ? "torch.cat([" : "np.concatenate([") + c.in[0] + ", " + row +
         (torch ? "], dim=1)" : "], axis=1)") + "  # " + code_shape(c.args.in[0]) + " -> " +
         code_shape(c.args.out) + "\n";
}
std::string numpy(const CodeArgs& c) { return code(c, false); }
std::string torch(const CodeArgs& c) { return code(c, true); }

}  // namespace

const OpInfo& append_row_op() {
  static const OpInfo info{
      .op = Op::kAppendRow,
      .id = "append_row",
      .phrase = "the tokens' rows, then one more",
      .sign = ";",
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .panes = panes,
      .numpy = numpy,
      .torch = torch,
      .trials = {"b h t n, h n", "b h t n"},
      .gradient_reads = {.inputs = {}, .result = false},
  };
  return info;
}

}  // namespace headlight
