// The mean over the rows of the tokens that count, all of a sentence or one: what a whole sentence
// comes to.
#include <algorithm>

#include "core/ops/op.h"

namespace headlight {
namespace {

// x (batch, position, feature), present (batch, position) -> (batch, feature)
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("mean_pool", in, 2, 2);
  const auto &x = in[0].axes, &m = in[1].axes;
  const bool fits =
      x.size() == 3 && m.size() == 2 && x[0].size == m[0].size && x[1].size == m[1].size;
  if (!fits) {
    shape_error("mean_pool", in, "x (batch, position, feature) and present (batch, position)");
  }
  return {x[0], x[2]};
}

// How many tokens count: Σ_t m[t]. The sum of 0s and 1s.
double tokens_of(const float* present, std::int64_t positions) {
  double sum = 0;
  for (std::int64_t t = 0; t < positions; ++t) sum += present[t];
  return sum;
}

// y[b, f] = Σ_t m[b, t] · x[b, t, f] / Σ_t m[b, t], where m is 1 for a token and 0 for padding. A
// row without a token is zeros. Padding is left out, not multiplied: its numbers do not matter.
void forward(const OpArgs& args) {
  const auto& x = args.in[0].axes;
  const std::int64_t positions = x[1].size, width = x[2].size;
  for (std::int64_t b = 0; b < x[0].size; ++b) {
    const float* present = args.in[1].data + b * positions;
    const double tokens = tokens_of(present, positions);
    for (std::int64_t f = 0; f < width; ++f) {
      double sum = 0;
      for (std::int64_t t = 0; t < positions; ++t) {
        if (present[t] == 0) continue;
        sum += static_cast<double>(present[t]) * args.in[0].data[(b * positions + t) * width + f];
      }
      args.result[b * width + f] = tokens > 0 ? static_cast<float>(sum / tokens) : 0.0f;
    }
  }
}

// dx[b, t, f] += dy[b, f] · m[b, t] / Σ_k m[b, k]
void backward(const OpGradArgs& args) {
  const auto& x = args.in[0].axes;
  const std::int64_t positions = x[1].size, width = x[2].size;
  for (std::int64_t b = 0; args.d_in[0] && b < x[0].size; ++b) {
    const float* present = args.in[1].data + b * positions;
    const double tokens = tokens_of(present, positions);
    for (std::int64_t t = 0; t < positions; ++t) {
      if (present[t] == 0) continue;
      float* dx = args.d_in[0] + (b * positions + t) * width;
      for (std::int64_t f = 0; f < width; ++f) {
        dx[f] = static_cast<float>(dx[f] + args.d_out[b * width + f] * (present[t] / tokens));
      }
    }
  }
}

OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t positions = args.in[0].axes[1].size;
  const double tokens = tokens_of(args.in[1].data + index[0] * positions, positions);
  OpExplanation result;
  result.formula = "Σ_t m[t] · x[t, f] / Σ_t m[t]";
  result.quantities = {{"tokens", tokens}};
  result.divided_by = static_cast<std::int64_t>(std::max(tokens, 1.0));
  for (std::int64_t t = 0; t < positions; ++t) {
    const std::vector<std::int64_t> cell = {index[0], t, index[1]}, counts = {index[0], t};
    const double m = args.in[1].at(counts);
    OpTerm term{{0, cell}, args.in[0].at(cell), 0.0, {{1, counts}}, "m = 0"};
    if (m != 0) {
      term.factor = m / tokens;
      term.note = "1 / Σ_t m[t]";
    }
    result.terms.push_back(std::move(term));
  }
  if (tokens == 1) result.why = "explain.one_row";
  return result;
}

OpExplanation explain_gradient(const OpGradArgs& args, int input,
                               std::span<const std::int64_t> index) {
  if (input != 0) return without_gradient();
  const std::int64_t positions = args.in[0].axes[1].size;
  const double tokens = tokens_of(args.in[1].data + index[0] * positions, positions);
  const std::vector<std::int64_t> counts = {index[0], index[1]};
  const double m = args.in[1].at(counts);
  const std::string formula = "dy[f] · m[t] / Σ_k m[k]";
  if (m == 0) return zero_gradient(formula, "explain.not_counted");
  OpTerm term =
      gradient_term(args, {index[0], index[2]}, m / tokens, {{1, counts}}, "1 / Σ_t m[t]");
  OpExplanation result{{}, {{"tokens", tokens}}, formula};
  result.written = {math(term.value), math(" × ", " \\times "), math(m), math(" / ", " / "),
                    math(tokens)};
  result.terms.push_back(std::move(term));
  return result;
}

// Which tokens count, as a column beside x: batch item 0.
std::vector<Pane> panes(const OpArgs& args, std::int64_t) {
  Pane x = matrix_pane(args.in[0], 0, PaneRole::kOperand, 0);
  x.row_follow = Follow::kFree;  // every token's row acts on the one that results
  Pane present;
  present.input = 1;
  present.rows = args.in[1].axes[1].size;
  present.columns = 1;
  present.row_stride = 1;
  present.column_stride = present.rows;
  present.row_axis = args.in[1].axes[1].name;
  present.column_axis = "batch";
  present.row_follow = present.column_follow = Follow::kFree;
  return {x, present, matrix_pane(args.out, -1, PaneRole::kResult, 0)};
}

std::string code(const CodeArgs& c, const char* axis) {
  const std::string &x = c.in[0], &m = c.in[1];
  return c.out + " = (" + m + "[:, None] * " + x + ").sum(" + axis + "=0) / max(" + m +
         ".sum(), 1)  # " + code_shape(c.args.in[0]) + " -> " + code_shape(c.args.out) + "\n";
}
std::string numpy(const CodeArgs& c) { return code(c, "axis"); }
std::string torch(const CodeArgs& c) { return code(c, "dim"); }

}  // namespace

const OpInfo& mean_pool_op() {
  static const OpInfo info{
      .op = Op::kMeanPool,
      .id = "mean_pool",
      .phrase = "the mean of the rows that count",
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .panes = panes,
      .numpy = numpy,
      .torch = torch,
      .inputs = {InputKind::kNumbers, InputKind::kPresence},
      .errors = ErrorClass::kRows,
      .work = {.flops = 2, .per = WorkPer::kInputCell},
      .trials = {"b t n, b t"},
      .gradient_reads = {.inputs = {false, true}, .result = false},
  };
  return info;
}

}  // namespace headlight
