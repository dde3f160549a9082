// Positions: the sinusoids of "Attention Is All You Need" (section 3.5), and a learned table.
#include <algorithm>
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

// Of two halves the sines come first; of an odd width they have the number in the middle.
std::int64_t pairs_of(std::int64_t width) { return (width + 1) / 2; }

struct Wave {
  std::int64_t pair = 0;
  bool is_sine = true;
};
Wave wave_of(std::int64_t f, const OpParams& params) {
  const std::int64_t pairs = pairs_of(params.features);
  if (!params.halves) return {f / 2, f % 2 == 0};
  return {f < pairs ? f : f - pairs, f < pairs};
}

// The power of 10000 by which the pair is slower than the first one, as a fraction: 2i / d, or of
// those that go to the end i / (d/2 − 1).
struct Power {
  std::int64_t above = 0, below = 1;
};
Power power_of(std::int64_t pair, const OpParams& params) {
  if (!params.to_end) return {2 * pair, params.features};
  return {pair, std::max<std::int64_t>(1, pairs_of(params.features) - 1)};
}

double sinusoid_angle(double t, std::int64_t pair, const OpParams& params) {
  const Power power = power_of(pair, params);
  return t / std::pow(10000.0, static_cast<double>(power.above) / static_cast<double>(power.below));
}

// PE[t, 2i] = sin(t / 10000^(2i/d)),  PE[t, 2i+1] = cos of the same angle; or all sines first. The
// first token stands at `offset`.
double sinusoid_column(double t, std::int64_t f, const OpParams& params) {
  const Wave wave = wave_of(f, params);
  const double angle = sinusoid_angle(t + static_cast<double>(params.offset), wave.pair, params);
  return wave.is_sine ? std::sin(angle) : std::cos(angle);
}

void sinusoid_forward(const OpArgs& args) {
  const auto& axes = args.out.axes;
  float* out = args.result;
  for (std::int64_t b = 0; b < axes[0].size; ++b) {
    for (std::int64_t t = 0; t < axes[1].size; ++t) {
      for (std::int64_t f = 0; f < axes[2].size; ++f) {
        *out++ = static_cast<float>(sinusoid_column(static_cast<double>(t), f, args.params));
      }
    }
  }
}

// The waves are the same whatever is learned: nothing feels them.
void sinusoid_backward(const OpGradArgs&) {}

// sin(8 / 10000^(4/64)) = sin(4.499)
MathLine sinusoid_line(const Wave& wave, std::int64_t t, const OpParams& params, double angle) {
  const std::string name = wave.is_sine ? "sin" : "cos";
  const Power at = power_of(wave.pair, params);
  const std::string power = std::to_string(at.above) + "/" + std::to_string(at.below);
  const std::string place = std::to_string(t);
  return {math(name + "(" + place + " / 10000^(" + power + ")) = " + name + "(",
               "\\" + name + "(" + place + " / 10000^{" + power + "}) = \\" + name + "("),
          math(angle), math(")", ")")};
}

std::string sinusoid_formula(const Wave& wave, const OpParams& params) {
  if (!params.halves) return wave.is_sine ? "sin(t / 10000^(f/d))" : "cos(t / 10000^((f − 1)/d))";
  const std::string i = wave.is_sine ? "f" : "(f − d/2)";
  return (wave.is_sine ? "sin(t / 10000^(" : "cos(t / 10000^(") +
         (params.to_end ? i + "/(d/2 − 1)))" : "2 " + i + "/d))");
}

OpExplanation sinusoid_explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t t = index[1] + args.params.offset;
  const Wave wave = wave_of(index[2], args.params);
  const double angle = sinusoid_angle(static_cast<double>(t), wave.pair, args.params);
  OpTerm term{{}, wave.is_sine ? std::sin(angle) : std::cos(angle), 1.0, {}, ""};
  term.note = Message(wave.is_sine ? "explain.note.sine" : "explain.note.cosine");
  return {{term},
          {{"position", static_cast<double>(t)}, {"angle", angle}},
          sinusoid_formula(wave, args.params),
          sinusoid_line(wave, t, args.params, angle)};
}

OpExplanation sinusoid_explain_gradient(const OpGradArgs&, int, std::span<const std::int64_t>) {
  return without_gradient();
}

std::vector<Pane> sinusoid_panes(const OpArgs& args, std::int64_t) {
  return {matrix_pane(args.out, -1, PaneRole::kResult, 0)};
}

// "np.arange(12)", or "np.arange(2, 2 + 12)" where the first token stands at 2
std::string places_code(const CodeArgs& c, const std::string& library) {
  const std::string length = code_size(c.args.out, 2), first = std::to_string(c.args.params.offset);
  return library + ".arange(" + (first == "0" ? length : first + ", " + first + " + " + length) +
         ")";
}

std::string sinusoid_code(const CodeArgs& c, const std::string& library) {
  const std::string width = code_size(c.args.out, 1);
  const std::string t = "t = " + places_code(c, library) + "[:, None]  # positions\n";
  const std::string shape = "  # " + code_shape(c.args.out) + "\n";
  if (!c.args.params.halves)
    return t + "f = " + library + ".arange(" + width +
           ")            # features: sines at the even ones, cosines between\n" +
           "angle = t / 10000 ** ((f - f % 2) / " + width + ")\n" + c.out + " = " + library +
           ".where(f % 2 == 0, " + library + ".sin(angle), " + library + ".cos(angle))" + shape;
  const std::string pairs = std::to_string(pairs_of(c.args.params.features));
  const Power power = power_of(1, c.args.params);
  const std::string both = library == "np"
                               ? "np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)"
                               : "torch.cat([torch.sin(angle), torch.cos(angle)], dim=-1)";
  return t + "i = " + library + ".arange(" + pairs + ")  # half of the features: pairs\n" +
         "angle = t / 10000 ** (" + (power.above == 1 ? "" : std::to_string(power.above) + " * ") +
         "i / " + std::to_string(power.below) + ")\n" + c.out + " = " + both + "[:, :" + width +
         "]" + shape;
}
std::string sinusoid_numpy(const CodeArgs& c) { return sinusoid_code(c, "np"); }
std::string sinusoid_torch(const CodeArgs& c) { return sinusoid_code(c, "torch"); }

// ---- learned ----

// ids (batch, position), W_pos (context, d_model) -> (batch, position, feature)
std::vector<Axis> learned_shape(std::span<const TensorView> in, const OpParams& params) {
  expect_inputs("learned_position", in, 2, 2);
  if (in[0].axes.size() != 2 || in[1].axes.size() != 2 ||
      in[1].axes[0].size < params.offset + in[0].axes[1].size) {
    shape_error("learned_position", in,
                "ids (batch, position) and a table with a row for each position");
  }
  return {in[0].axes[0], in[0].axes[1], {"feature", in[1].axes[1].size}};
}

// y[b, t, :] = W_pos[t + offset, :]
void learned_forward(const OpArgs& args) {
  const auto& axes = args.out.axes;
  const std::int64_t cells = axes[1].size * axes[2].size;
  const float* table = args.in[1].data + args.params.offset * axes[2].size;
  for (std::int64_t b = 0; b < axes[0].size; ++b)
    std::copy_n(table, cells, args.result + b * cells);
}

// dW_pos[t + offset, f] += Σ_b dy[b, t, f]; rows before the first and past the last position are
// felt by nobody
void learned_backward(const OpGradArgs& args) {
  const auto& axes = args.out.axes;
  const std::int64_t cells = axes[1].size * axes[2].size;
  if (!args.d_in[1]) return;
  float* table = args.d_in[1] + args.params.offset * axes[2].size;
  for (std::int64_t i = 0; i < cells; ++i) {
    double sum = table[i];
    for (std::int64_t b = 0; b < axes[0].size; ++b) sum += args.d_out[b * cells + i];
    table[i] = static_cast<float>(sum);
  }
}

OpExplanation learned_explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t row = index[1] + args.params.offset;
  const std::int64_t cell[] = {row, index[2]};
  OpTerm term{{1, {row, index[2]}}, args.in[1].at(cell), 1.0, {}, ""};
  term.note = Message("explain.note.position_row", {{"row", std::to_string(row)}});
  const std::string at =
      args.params.offset == 0 ? "t" : "t + " + std::to_string(args.params.offset);
  return {{term}, {{"position", static_cast<double>(row)}}, "W_pos[" + at + ", f]"};
}

// Every row of the batch has a token at the position.
OpExplanation learned_explain_gradient(const OpGradArgs& args, int input,
                                       std::span<const std::int64_t> index) {
  if (input != 1) return without_gradient();
  const auto& axes = args.out.axes;
  const std::string formula = axes[0].size > 1 ? "Σ_b dy[b, t, f]" : "dy[t, f]";
  const std::int64_t t = index[0] - args.params.offset;
  if (t < 0 || t >= axes[1].size) return zero_gradient(formula, "explain.no_position");
  OpExplanation result{{}, {{"position", static_cast<double>(index[0])}}, formula};
  for (std::int64_t b = 0; b < axes[0].size; ++b) {
    result.terms.push_back(gradient_term(args, {b, t, index[1]}));
  }
  return result;
}

std::vector<Pane> learned_panes(const OpArgs& args, std::int64_t) {
  Pane table = matrix_pane(args.in[1], 1, PaneRole::kOperand, 0);
  table.row_shift = -args.params.offset;
  return {table, matrix_pane(args.out, -1, PaneRole::kResult, 0)};
}

std::string learned_code(const CodeArgs& c) {
  const std::string length = code_size(c.args.out, 2);
  const std::string shape = " -> " + code_shape(c.args.out) + "\n";
  if (c.args.params.offset == 0)
    return c.out + " = " + c.in[1] + "[:" + length + "]  # row t for position t" + shape;
  const std::string first = std::to_string(c.args.params.offset);
  return c.out + " = " + c.in[1] + "[" + first + ":" + first + " + " + length + "]  # row t + " +
         first + " for position t" + shape;
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
      .trials = {"b t, 4t n"},
      .gradient_reads = {.inputs = {}, .result = false},
  };
  return info;
}

}  // namespace headlight
