#include "core/ops/mixers/recurrent.h"

#include <algorithm>

namespace headlight::recurrent {

Sizes sizes_of(std::span<const TensorView> in) {
  return {in[0].axes[0].size, in[0].axes[1].size, in[1].axes[0].size};
}

std::vector<Axis> shape(std::string_view op, std::span<const TensorView> in, std::int64_t gates,
                        std::string_view expected) {
  expect_inputs(op, in, 3, 4);
  const auto &a = in[0].axes, &u = in[1].axes, &m = in[2].axes;
  bool fits = a.size() == 3 && u.size() == 2 && m.size() == 2;
  fits = fits && a[2].size == u[1].size && u[1].size == gates * u[0].size;
  fits = fits && m[0].size == a[0].size && m[1].size == a[1].size;
  if (fits && in.size() > 3) fits = in[3].axes.size() == 1 && in[3].axes[0].size == a[2].size;
  if (!fits) shape_error(op, in, expected);
  return {a[0], a[1], {"state", u[0].size}};
}

StepOfRun step_of_run(std::span<const TensorView> in, const TensorView& out, bool reversed,
                      std::int64_t item, std::int64_t row) {
  const Sizes z = sizes_of(in);
  return {in, out, z, item, row, row_before(row, z.positions, reversed)};
}

OpExplanation kept_state(const StepOfRun& step, std::int64_t k, std::string formula) {
  OpExplanation result;
  result.formula = std::move(formula);
  if (step.before < 0) {
    result.why = "explain.padding";
    return result;
  }
  result.terms.push_back({{kResultCell, step.past_cell(k)}, step.past(k), 1.0, {}, "s[t − 1]"});
  return result;
}

OpExplanation through_time(const OpGradArgs& args, int input, std::span<const std::int64_t> index,
                           StepTangent tangent, std::string formula) {
  const Sizes z = sizes_of(args.in);
  const bool reversed = args.params.reversed;
  OpExplanation result;
  result.formula = std::move(formula);
  const bool one_item = input == 0;  // a row of `a` acts on its own text only
  for (std::int64_t b = 0; b < z.batch; ++b) {
    if (one_item && b != index[0]) continue;
    Tangent grows(static_cast<std::size_t>(z.states), 0.0);
    for (std::int64_t i = 0; i < z.positions; ++i) {
      const std::int64_t row = row_of_step(i, z.positions, reversed);
      const StepOfRun step = step_of_run(args.in, args.out, reversed, b, row);
      if (step.is_token()) grows = tangent(step, grows, input, index);
      for (std::int64_t k = 0; k < z.states; ++k) {
        const double slope = grows[at(k)];
        if (slope == 0) continue;
        result.terms.push_back(gradient_term(args, {b, row, k}, slope, {}, "ds/da"));
      }
    }
  }
  if (result.terms.empty()) return zero_gradient(result.formula, "explain.no_state");
  return result;
}

std::vector<Pane> panes(const OpArgs& args, std::span<const std::string_view> gates) {
  const std::int64_t n = args.out.axes[2].size;
  std::vector<Pane> all;
  const auto add = [&](const Pane& whole) {
    for (std::size_t g = 0; g < gates.size(); ++g) {
      Pane pane = whole;
      pane.offset += static_cast<std::int64_t>(g) * n;
      pane.columns = n;
      pane.column_axis = args.out.axes[2].name;
      pane.part = gates[g];
      all.push_back(pane);
    }
  };
  add(matrix_pane(args.in[0], 0, PaneRole::kOperand, 0));
  Pane u = matrix_pane(args.in[1], 1, PaneRole::kOperand, 0);
  u.row_follow = Follow::kFree;
  add(u);
  if (args.in.size() > 3) add(vector_pane(args.in[3], 3, PaneRole::kRowVector));
  all.push_back(matrix_pane(args.out, -1, PaneRole::kResult, 0));
  return all;
}

std::string loop_code(const CodeArgs& c, const std::string& update, bool torch) {
  const std::string library = torch ? "torch" : "np";
  const bool back = c.args.params.reversed;
  const std::string steps = "range(len(" + c.in[0] + "))";
  std::string text = "state, rows = " + library + ".zeros(len(" + c.in[1] + ")), []\n";
  text += "for t in " + (back ? "reversed(" + steps + ")" : steps) + ":  # one after the other\n";
  text += "    if " + c.in[2] + "[t] != 0:  # padding keeps the state\n" + update;
  text += "    rows.append(state)\n";
  text += c.out + " = " + library + ".stack(rows" + (back ? "[::-1]" : "") + ")  # " +
          code_shape(c.args.out) + "\n";
  return text;
}

}  // namespace headlight::recurrent
