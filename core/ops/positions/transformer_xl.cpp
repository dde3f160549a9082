// What Transformer-XL (Dai et al. 2019) makes of a distance before queries meet it: a row of sines
// and cosines, and what every query adds to itself, whatever its token is.
#include <cmath>

#include "core/ops/positions/distance.h"

namespace headlight {
namespace {

// ---- sinusoids of the distance ----

// How many distances there are: from the key that lies farthest before a query to the query itself,
// or to the one that lies farthest behind it.
std::int64_t distances(std::int64_t positions, const OpParams& params) {
  return positions + params.offset + (params.causal ? 0 : positions - 1);
}

// ids (batch, position) only lend their shape -> (batch, distance, feature)
std::vector<Axis> sinusoid_shape(std::span<const TensorView> in, const OpParams& params) {
  expect_inputs("distance_sinusoid", in, 1, 1);
  if (in[0].axes.size() != 2 || in[0].axes[1].size < 1 || params.offset < 0)
    shape_error("distance_sinusoid", in, "ids (batch, position) of at least one position");
  const char* axis = params.causal                    ? "distance"
                     : in[0].axes[1].name == "source" ? "distance_source"
                                                      : "distance_both";
  return {
      in[0].axes[0], {axis, distances(in[0].axes[1].size, params)}, {"feature", params.features}};
}

// The distance that row 0 stands for.
std::int64_t first_distance(std::span<const TensorView> in, const OpParams& params) {
  return params.causal ? 0 : 1 - in[0].axes[1].size;
}

double angle_of(double distance, std::int64_t f, std::int64_t width) {
  return distance / std::pow(10000.0, static_cast<double>(f - f % 2) / static_cast<double>(width));
}

double wave(double distance, std::int64_t f, std::int64_t width) {
  const double angle = angle_of(distance, f, width);
  return f % 2 == 0 ? std::sin(angle) : std::cos(angle);
}

// r[d, 2i] = sin(d / 10000^(2i/D)),  r[d, 2i+1] = cos of the same angle
void sinusoid_forward(const OpArgs& args) {
  const auto& axes = args.out.axes;
  const std::int64_t first = first_distance(args.in, args.params);
  float* out = args.result;
  for (std::int64_t b = 0; b < axes[0].size; ++b) {
    for (std::int64_t r = 0; r < axes[1].size; ++r) {
      for (std::int64_t f = 0; f < axes[2].size; ++f)
        *out++ = static_cast<float>(wave(static_cast<double>(first + r), f, axes[2].size));
    }
  }
}

// The waves are the same whatever is learned: nothing feels them.
void sinusoid_backward(const OpGradArgs&) {}

OpExplanation sinusoid_explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t f = index[2], width = args.out.axes[2].size;
  const std::int64_t distance = first_distance(args.in, args.params) + index[1];
  const double angle = angle_of(static_cast<double>(distance), f, width);
  const bool even = f % 2 == 0;
  const std::string name = even ? "sin" : "cos";
  const std::string power = std::to_string(f - f % 2) + "/" + std::to_string(width);
  OpTerm term{{}, wave(static_cast<double>(distance), f, width), 1.0, {}, ""};
  term.note = Message(even ? "explain.note.sine" : "explain.note.cosine");
  const std::string start = "(" + std::to_string(distance) + " / 10000^";
  return {{term},
          {{"distance", static_cast<double>(distance)}, {"angle", angle}},
          even ? "sin(d / 10000^(f/D))" : "cos(d / 10000^((f − 1)/D))",
          {math(name + start + "(" + power + ")) = " + name + "(",
                "\\" + name + start + "{" + power + "}) = \\" + name + "("),
           math(angle), math(")", ")")}};
}

OpExplanation sinusoid_explain_gradient(const OpGradArgs&, int, std::span<const std::int64_t>) {
  return without_gradient();
}

std::vector<Pane> sinusoid_panes(const OpArgs& args, std::int64_t) {
  return {matrix_pane(args.out, -1, PaneRole::kResult, 0)};
}

std::string sinusoid_code(const CodeArgs& c, const std::string& library) {
  const std::int64_t first = first_distance(c.args.in, c.args.params);
  const std::string width = code_size(c.args.out, 1);
  return "d = " + library + ".arange(" + std::to_string(first) + ", " +
         std::to_string(first + c.args.out.axes[1].size) + ")[:, None]  # distances\n" +
         "f = " + library + ".arange(" + width +
         ")  # features: sines at the even ones, cosines between\n" +
         "angle = d / 10000 ** ((f - f % 2) / " + width + ")\n" + c.out + " = " + library +
         ".where(f % 2 == 0, " + library + ".sin(angle), " + library + ".cos(angle))  # " +
         code_shape(c.args.out) + "\n";
}

// ---- what every query of a head adds to itself ----

// q (batch, head, query, d_head), u (head, d_head) -> the axes of q
std::vector<Axis> shift_shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("shift_heads", in, 2, 2);
  const auto &q = in[0].axes, &u = in[1].axes;
  if (q.size() != 4 || u.size() != 2 || u[0].size != q[1].size || u[1].size != q[3].size)
    shape_error("shift_heads", in, "q (batch, head, query, d_head) and u (head, d_head)");
  return {q.begin(), q.end()};
}

// Which cell of u belongs to a cell of q.
std::int64_t shift_of(std::span<const Axis> q, std::int64_t cell) {
  const std::int64_t width = q[3].size;
  return cell / (q[2].size * width) % q[1].size * width + cell % width;
}

// y[h, i, e] = q[h, i, e] + u[h, e]
void shift_forward(const OpArgs& args) {
  for (std::int64_t c = 0; c < args.out.size(); ++c)
    args.result[c] = args.in[0].data[c] + args.in[1].data[shift_of(args.out.axes, c)];
}

// dq += dy, du[h, e] += Σ_b Σ_i dy[h, i, e]
void shift_backward(const OpGradArgs& args) {
  for (std::int64_t c = 0; args.d_in[0] && c < args.out.size(); ++c)
    args.d_in[0][c] += args.d_out[c];
  float* du = args.d_in[1];
  if (!du) return;
  std::vector<double> sums(du, du + args.in[1].size());
  for (std::int64_t c = 0; c < args.out.size(); ++c)
    sums[static_cast<std::size_t>(shift_of(args.out.axes, c))] += args.d_out[c];
  for (std::size_t i = 0; i < sums.size(); ++i) du[i] = static_cast<float>(sums[i]);
}

OpExplanation shift_explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::vector<std::int64_t> cell(index.begin(), index.end());
  const std::vector<std::int64_t> added = {index[1], index[3]};
  const double q = args.in[0].at(cell), u = args.in[1].at(added);
  return {{{{0, cell}, q, 1.0, {}, ""}, {{1, added}, u, 1.0, {}, ""}},
          {},
          "q[i, d] + u[d]",
          {math(q), math(" + ", " + "), math(u)}};
}

OpExplanation shift_explain_gradient(const OpGradArgs& args, int input,
                                     std::span<const std::int64_t> index) {
  if (input == 0) return {{gradient_term(args, {index.begin(), index.end()})}, {}, "dy[i, d]"};
  OpExplanation result{{}, {}, "Σ_i dy[i, d]"};
  for (std::int64_t b = 0; b < args.out.axes[0].size; ++b) {
    for (std::int64_t i = 0; i < args.out.axes[2].size; ++i)
      result.terms.push_back(gradient_term(args, {b, index[0], i, index[1]}));
  }
  return result;
}

std::vector<Pane> shift_panes(const OpArgs& args, std::int64_t head) {
  Pane u = vector_pane(args.in[1], 1, PaneRole::kOperand);
  u.offset = head * u.columns;
  return {matrix_pane(args.in[0], 0, PaneRole::kOperand, head), u,
          matrix_pane(args.out, -1, PaneRole::kResult, head)};
}

std::string shift_code(const CodeArgs& c) {
  return c.out + " = " + c.in[0] + " + " + c.in[1] + "[:, None, :]  # " + code_shape(c.args.out) +
         "\n";
}

}  // namespace

const OpInfo& distance_sinusoid_op() {
  static const OpInfo info{
      .op = Op::kDistanceSinusoid,
      .id = "distance_sinusoid",
      .phrase = "a sine or cosine of the distance",
      .shape = sinusoid_shape,
      .forward = sinusoid_forward,
      .backward = sinusoid_backward,
      .explain = sinusoid_explain,
      .explain_gradient = sinusoid_explain_gradient,
      .panes = sinusoid_panes,
      .numpy = [](const CodeArgs& c) { return sinusoid_code(c, "np"); },
      .torch = [](const CodeArgs& c) { return sinusoid_code(c, "torch"); },
      .inputs = {InputKind::kSizes},
      .work = {.flops = 50},
      .trials = {"b t"},
      .gradient_reads = {.inputs = {}, .result = false},
  };
  return info;
}

const OpInfo& shift_heads_op() {
  static const OpInfo info{
      .op = Op::kShiftHeads,
      .id = "shift_heads",
      .phrase = "adds what every query of the head adds",
      .sign = "+",
      .shape = shift_shape,
      .forward = shift_forward,
      .backward = shift_backward,
      .explain = shift_explain,
      .explain_gradient = shift_explain_gradient,
      .panes = shift_panes,
      .numpy = shift_code,
      .torch = shift_code,
      .trials = {"b h t n, h n"},
      .keeps_place = true,
      .gradient_reads = {.inputs = {}, .result = false},
  };
  return info;
}

}  // namespace headlight
