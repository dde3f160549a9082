// The number that a token stands for.
#include "core/base/number_text.h"
#include "core/ops/numbers/grid.h"
#include "core/ops/op.h"

namespace headlight {
namespace {

// ids (batch, position) -> (batch, position, number 1)
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("number", in, 1, 1);
  if (in[0].axes.size() != 2) shape_error("number", in, "ids (batch, position)");
  return {in[0].axes[0], in[0].axes[1], {"number", 1}};
}

// x[t] = −1 + 2 · id[t] / (V − 1)
void forward(const OpArgs& args) {
  const auto ids = args.in[0].cells();
  for (std::size_t i = 0; i < ids.size(); ++i)
    args.result[i] =
        static_cast<float>(grid_value(static_cast<std::int64_t>(ids[i]), args.params.features));
}

// Ids are chosen, not computed: nothing feels the numbers that they stand for.
void backward(const OpGradArgs&) {}

OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::vector<std::int64_t> token = {index[0], index[1]};
  const std::int64_t last = std::max<std::int64_t>(args.params.features - 1, 1);
  const double id = args.in[0].at(token), step = 2 * half_grid_step(args.params.features);
  OpTerm own{{0, token}, id, step, {}, "2 / (V − 1)"};
  OpTerm first{{}, -1, 1, {}, Message("explain.note.grid_first")};
  return {{own, first},
          {{"step", step}},
          "−1 + 2 · id[t] / (V − 1)",
          {math("−1 + 2 × ", "-1 + 2 \\times "), math(id), math(" / ", " / "),
           math(static_cast<double>(last))}};
}

OpExplanation explain_gradient(const OpGradArgs&, int, std::span<const std::int64_t>) {
  return without_gradient();
}

Pane column_of_ids(const TensorView& ids) {
  Pane pane;
  pane.input = 0;
  pane.rows = ids.axes[1].size;
  pane.columns = 1;
  pane.row_stride = 1;
  pane.column_stride = pane.rows;
  pane.row_axis = "position";
  pane.column_axis = "batch";
  pane.column_follow = Follow::kFree;
  return pane;
}

std::vector<Pane> panes(const OpArgs& args, std::int64_t) {
  return {column_of_ids(args.in[0]), matrix_pane(args.out, -1, PaneRole::kResult, 0)};
}

std::string code(const CodeArgs& c, const std::string& ids) {
  const std::string last = std::to_string(std::max<std::int64_t>(c.args.params.features - 1, 1));
  return c.out + " = (-1 + 2 * " + ids + " / " + last + ")[:, None]  # " + code_shape(c.args.out) +
         "\n";
}
std::string numpy(const CodeArgs& c) { return code(c, c.in[0]); }
std::string torch(const CodeArgs& c) { return code(c, c.in[0]); }

}  // namespace

const OpInfo& number_op() {
  static const OpInfo info{
      .op = Op::kNumber,
      .id = "number",
      .phrase = "the number that the token stands for",
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .panes = panes,
      .numpy = numpy,
      .torch = torch,
      .inputs = {InputKind::kIds},
      .work = {.flops = 3},
      .trials = {"b t"},
      .gradient_reads = {.inputs = {}, .result = false},
  };
  return info;
}

}  // namespace headlight
