// Positions: the sinusoids of "Attention Is All You Need" (section 3.5), and a learned table.
#include <cmath>

#include "core/ops/op.h"

namespace headlight {
namespace {

// ---- sinusoidal ----

// ids (batch, position) only lend their shape -> (batch, position, feature)
std::vector<Axis> sinusoid_shape(std::span<const TensorView> in, const OpParams& params) {
  expect_inputs("sinusoid", in, 1, 1);
  if (in[0].axes.size() != 2) shape_error("sinusoid", in, "ids (batch, position)");
  return {in[0].axes[0], in[0].axes[1], {"feature", params.features}};
}

double sinusoid_angle(double t, std::int64_t f, std::int64_t width) {
  const auto pair = static_cast<double>(f - f % 2);
  return t / std::pow(10000.0, pair / static_cast<double>(width));
}

// PE[t, 2i] = sin(t / 10000^(2i/d)),  PE[t, 2i+1] = cos of the same angle.
double sinusoid_column(double t, std::int64_t f, std::int64_t width) {
  const double angle = sinusoid_angle(t, f, width);
  return f % 2 == 0 ? std::sin(angle) : std::cos(angle);
}

void sinusoid_forward(const OpArgs& args) {
  const auto& axes = args.out.axes;
  float* out = args.result;
  for (std::int64_t b = 0; b < axes[0].size; ++b) {
    for (std::int64_t t = 0; t < axes[1].size; ++t) {
      for (std::int64_t f = 0; f < axes[2].size; ++f) {
        *out++ = static_cast<float>(sinusoid_column(static_cast<double>(t), f, axes[2].size));
      }
    }
  }
}

// The waves are the same whatever is learned: nothing feels them.
void sinusoid_backward(const OpGradArgs&) {}

// sin(8 / 10000^(4/64)) = sin(4.499)
MathLine sinusoid_line(std::span<const std::int64_t> index, std::int64_t width, double angle) {
  const std::string name = index[2] % 2 == 0 ? "sin" : "cos";
  const std::string power = std::to_string(index[2] - index[2] % 2) + "/" + std::to_string(width);
  const std::string place = std::to_string(index[1]);
  return {math(name + "(" + place + " / 10000^(" + power + ")) = " + name + "(",
               "\\" + name + "(" + place + " / 10000^{" + power + "}) = \\" + name + "("),
          math(angle), math(")", ")")};
}

OpExplanation sinusoid_explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t f = index[2], width = args.out.axes[2].size;
  const auto t = static_cast<double>(index[1]);
  const double angle = sinusoid_angle(t, f, width);
  const bool even = f % 2 == 0;
  OpTerm term{{}, sinusoid_column(t, f, width), 1.0, {}, ""};
  term.note = even ? "sin(angle)" : "cos(angle)";
  return {{term},
          {{"position", t}, {"angle", angle}},
          even ? "sin(t / 10000^(f/d))" : "cos(t / 10000^((f − 1)/d))",
          sinusoid_line(index, width, angle)};
}

OpExplanation sinusoid_explain_gradient(const OpGradArgs&, int, std::span<const std::int64_t>) {
  return without_gradient();
}

std::vector<Pane> sinusoid_panes(const OpArgs& args, std::int64_t) {
  return {matrix_pane(args.out, -1, PaneRole::kResult, 0)};
}

std::string sinusoid_code(const CodeArgs& c, const std::string& library) {
  const std::string length = code_size(c.args.out, 2), width = code_size(c.args.out, 1);
  return "t = " + library + ".arange(" + length + ")[:, None]  # positions\n" + "f = " + library +
         ".arange(" + width + ")            # features: sines at the even ones, cosines between\n" +
         "angle = t / 10000 ** ((f - f % 2) / " + width + ")\n" + c.out + " = " + library +
         ".where(f % 2 == 0, " + library + ".sin(angle), " + library + ".cos(angle))  # " +
         code_shape(c.args.out) + "\n";
}
std::string sinusoid_numpy(const CodeArgs& c) { return sinusoid_code(c, "np"); }
std::string sinusoid_torch(const CodeArgs& c) { return sinusoid_code(c, "torch"); }

// ---- learned ----

// ids (batch, position), W_pos (context, d_model) -> (batch, position, feature)
std::vector<Axis> learned_shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("learned_position", in, 2, 2);
  if (in[0].axes.size() != 2 || in[1].axes.size() != 2 || in[1].axes[0].size < in[0].axes[1].size) {
    shape_error("learned_position", in,
                "ids (batch, position) and a table with a row for each position");
  }
  return {in[0].axes[0], in[0].axes[1], {"feature", in[1].axes[1].size}};
}

// y[b, t, :] = W_pos[t, :]
void learned_forward(const OpArgs& args) {
  const auto& axes = args.out.axes;
  const std::int64_t cells = axes[1].size * axes[2].size;
  for (std::int64_t b = 0; b < axes[0].size; ++b) {
    for (std::int64_t i = 0; i < cells; ++i) args.result[b * cells + i] = args.in[1].data[i];
  }
}

// dW_pos[t, f] += Σ_b dy[b, t, f]; rows past the last position are felt by nobody
void learned_backward(const OpGradArgs& args) {
  const auto& axes = args.out.axes;
  const std::int64_t cells = axes[1].size * axes[2].size;
  for (std::int64_t i = 0; args.d_in[1] && i < cells; ++i) {
    double sum = args.d_in[1][i];
    for (std::int64_t b = 0; b < axes[0].size; ++b) sum += args.d_out[b * cells + i];
    args.d_in[1][i] = static_cast<float>(sum);
  }
}

OpExplanation learned_explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t cell[] = {index[1], index[2]};
  OpTerm term{{1, {index[1], index[2]}}, args.in[1].at(cell), 1.0, {}, ""};
  term.note = "row " + std::to_string(index[1]) + " of the position table";
  return {{term}, {{"position", static_cast<double>(index[1])}}, "W_pos[t, f]"};
}

// Every row of the batch has a token at the position.
OpExplanation learned_explain_gradient(const OpGradArgs& args, int input,
                                       std::span<const std::int64_t> index) {
  if (input != 1) return without_gradient();
  const auto& axes = args.out.axes;
  const std::string formula = axes[0].size > 1 ? "Σ_b dy[b, t, f]" : "dy[t, f]";
  if (index[0] >= axes[1].size) {
    return zero_gradient(formula, "explain.no_position");
  }
  OpExplanation result{{}, {{"position", static_cast<double>(index[0])}}, formula};
  for (std::int64_t b = 0; b < axes[0].size; ++b) {
    result.terms.push_back(gradient_term(args, {b, index[0], index[1]}));
  }
  return result;
}

std::vector<Pane> learned_panes(const OpArgs& args, std::int64_t) {
  return {matrix_pane(args.in[1], 1, PaneRole::kOperand, 0),
          matrix_pane(args.out, -1, PaneRole::kResult, 0)};
}

std::string learned_code(const CodeArgs& c) {
  const std::string length = code_size(c.args.out, 2);
  return c.out + " = " + c.in[1] + "[:" + length + "]  # row t for position t -> " +
         code_shape(c.args.out) + "\n";
}

}  // namespace

const OpInfo& sinusoid_op() {
  static const OpInfo info{
      .op = Op::kSinusoid,
      .id = "sinusoid",
      .phrase = "a sine or cosine of the position",
      .shape = sinusoid_shape,
      .forward = sinusoid_forward,
      .backward = sinusoid_backward,
      .explain = sinusoid_explain,
      .explain_gradient = sinusoid_explain_gradient,
      .panes = sinusoid_panes,
      .numpy = sinusoid_numpy,
      .torch = sinusoid_torch,
      .detail = Detail::kColumns,
      .column = sinusoid_column,
      .inputs = {InputKind::kSizes},
      .work = {.flops = 50},
      .trials = {"b t"},
      .gradient_reads = {.inputs = {}, .result = false},
  };
  return info;
}

const OpInfo& learned_position_op() {
  static const OpInfo info{
      .op = Op::kLearnedPosition,
      .id = "learned_position",
      .phrase = "picks the position's row of the table",
      .shape = learned_shape,
      .forward = learned_forward,
      .backward = learned_backward,
      .explain = learned_explain,
      .explain_gradient = learned_explain_gradient,
      .panes = learned_panes,
      .numpy = learned_code,
      .torch = learned_code,
      .inputs = {InputKind::kSizes},
      .trials = {"b t, 2t n"},
      .gradient_reads = {.inputs = {}, .result = false},
  };
  return info;
}

}  // namespace headlight
