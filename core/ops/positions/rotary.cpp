// Rotary positions (Su et al. 2021): pairs of a head's features turn like the hands of clocks, by
// an angle that grows with the position. The score of a query and a key then depends on how far
// apart they are.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "core/ops/op.h"

namespace headlight {
namespace {

// How many of a head's features turn: the rest stays as it is.
std::int64_t turned(std::int64_t d_head, const OpParams& params) {
  return params.turned == 0 ? d_head : params.turned;
}

// x (batch, head, position, d_head) -> the axes of x
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams& params) {
  expect_inputs("rotary", in, 1, 1);
  if (in[0].axes.size() != 4) shape_error("rotary", in, "x (batch, head, position, d_head)");
  const std::int64_t d_head = in[0].axes[3].size, r = turned(d_head, params);
  if (r % 2 != 0 || r < 0 || r > d_head) {
    shape_error("rotary", in,
                "an even number of features to turn, up to d_head = " + std::to_string(d_head) +
                    " (" + std::to_string(r) + " were asked for),");
  }
  return {in[0].axes.begin(), in[0].axes.end()};
}

// Pair i of r features at position p, of as many as stand before the first row and its own place:
// θ = p · rate, where rate = base^(−2i / r) unless it is made smaller
OpPair pair_of(std::int64_t i, std::int64_t position, std::int64_t r, const OpParams& params) {
  const auto at = static_cast<double>(position + params.offset);
  const double angle = at * rotary_rate(params.base, params.stretch, i, r / 2);
  if (params.interleaved) return {2 * i, 2 * i + 1, angle};
  return {i, i + r / 2, angle};
}

// The pair that feature f belongs to; f lies below r.
OpPair pair_with(std::int64_t f, std::int64_t position, std::int64_t r, const OpParams& params) {
  return pair_of(params.interleaved ? f / 2 : f % (r / 2), position, r, params);
}

// Calls f(row, pair) for each pair of each row, a row being a place in x.
template <class F>
void for_pairs(const TensorView& x, const OpParams& params, F&& f) {
  const std::int64_t positions = x.axes[2].size, d_head = x.axes[3].size,
                     r = turned(d_head, params);
  const std::int64_t rows = as_rows(x.axes).rows;
  for (std::int64_t p = 0; p < positions; ++p) {
    for (std::int64_t i = 0; i < r / 2; ++i) {
      const OpPair pair = pair_of(i, p, r, params);
      for (std::int64_t row = p; row < rows; row += positions) f(row * d_head, pair);
    }
  }
}

// a' = a cos θ − b sin θ, b' = a sin θ + b cos θ
void forward(const OpArgs& args) {
  const auto x = args.in[0].cells();
  std::copy(x.begin(), x.end(), args.result);
  for_pairs(args.in[0], args.params, [&](std::int64_t row, const OpPair& pair) {
    const double a = args.in[0].data[row + pair.first], b = args.in[0].data[row + pair.second];
    const double c = std::cos(pair.angle), s = std::sin(pair.angle);
    args.result[row + pair.first] = static_cast<float>(a * c - b * s);
    args.result[row + pair.second] = static_cast<float>(a * s + b * c);
  });
}

// The gradients turn back: da += da' cos θ + db' sin θ, db += db' cos θ − da' sin θ
void backward(const OpGradArgs& args) {
  float* dx = args.d_in[0];
  if (!dx) return;
  for_pairs(args.in[0], args.params, [&](std::int64_t row, const OpPair& pair) {
    const double a = args.d_out[row + pair.first], b = args.d_out[row + pair.second];
    const double c = std::cos(pair.angle), s = std::sin(pair.angle);
    dx[row + pair.first] = static_cast<float>(dx[row + pair.first] + a * c + b * s);
    dx[row + pair.second] = static_cast<float>(dx[row + pair.second] + b * c - a * s);
  });
  const std::int64_t d_head = args.out.axes[3].size;
  for (std::int64_t i = 0; i < args.out.size(); ++i) {
    if (i % d_head >= turned(d_head, args.params)) dx[i] += args.d_out[i];
  }
}

// A cell of the result made of the pair at `index`, forwards, or of the gradient's, backwards:
// where the two lie, and what each counts.
struct Turn {
  bool turns = false;  // false: the cell stays as it is
  std::vector<std::int64_t> own, other;
  double angle = 0, own_factor = 1, other_factor = 0;
  bool is_first = true;
};

Turn turn_at(const TensorView& x, const OpParams& params, std::span<const std::int64_t> index,
             double direction) {
  Turn t;
  t.own = t.other = {index.begin(), index.end()};
  const std::int64_t r = turned(x.axes[3].size, params);
  t.turns = index[3] < r;
  if (!t.turns) return t;
  const OpPair pair = pair_with(index[3], index[2], r, params);
  t.is_first = index[3] == pair.first;
  t.other[3] = t.is_first ? pair.second : pair.first;
  t.angle = pair.angle;
  t.own_factor = std::cos(pair.angle);
  t.other_factor = (t.is_first ? -direction : direction) * std::sin(pair.angle);
  return t;
}

// x × cos θ + y × (∓ sin θ), as numbers
MathLine written(double own, double other, const Turn& t) {
  return {math(own),   math(" × ", " \\times "), math(t.own_factor),  math(" + ", " + "),
          math(other), math(" × ", " \\times "), math(t.other_factor)};
}

TermNote unturned() { return Message("explain.note.unturned"); }

OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const Turn t = turn_at(args.in[0], args.params, index, 1);
  const double own = args.in[0].at(t.own), other = args.in[0].at(t.other);
  if (!t.turns) return {{{{0, t.own}, own, 1.0, {}, unturned()}}, {}, "x[t, d]"};
  OpExplanation result;
  result.formula = t.is_first ? "a · cos θ − b · sin θ" : "a · sin θ + b · cos θ";
  result.quantities = {{"position", static_cast<double>(index[2] + args.params.offset)},
                       {"angle", t.angle}};
  result.terms = {{{0, t.own}, own, t.own_factor, {}, "cos θ"},
                  {{0, t.other}, other, t.other_factor, {}, t.is_first ? "−sin θ" : "sin θ"}};
  result.written = written(own, other, t);
  return result;
}

OpExplanation explain_gradient(const OpGradArgs& args, int, std::span<const std::int64_t> index) {
  const Turn t = turn_at(args.out, args.params, index, -1);
  OpExplanation result;
  result.terms = {gradient_term(args, t.own, t.own_factor, {}, t.turns ? "cos θ" : unturned())};
  result.formula = "dy[t, d]";
  if (!t.turns) return result;
  result.formula = t.is_first ? "da · cos θ + db · sin θ" : "db · cos θ − da · sin θ";
  result.quantities = {{"position", static_cast<double>(index[2] + args.params.offset)},
                       {"angle", t.angle}};
  result.terms.push_back(
      gradient_term(args, t.other, t.other_factor, {}, t.is_first ? "sin θ" : "−sin θ"));
  result.written = written(result.terms[0].value, result.terms[1].value, t);
  return result;
}

std::vector<OpPair> pairs(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t r = turned(args.out.axes[3].size, args.params);
  std::vector<OpPair> all;
  for (std::int64_t i = 0; i < r / 2; ++i) all.push_back(pair_of(i, index[2], r, args.params));
  return all;
}

std::vector<Pane> panes(const OpArgs& args, std::int64_t head) {
  Pane x = matrix_pane(args.in[0], 0, PaneRole::kOperand, head);
  x.column_follow = Follow::kFree;
  return {x, matrix_pane(args.out, -1, PaneRole::kResult, head)};
}

std::string exact(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", number);
  return text;
}

// The lines that make the variable `rate` (r / 2) smaller.
std::string stretch_code(const RotaryStretch& s, const std::string& library) {
  const std::string slowed = "rate / float(" + exact(s.factor) + ")";
  if (s.kind == RotaryScaling::kLinear) return "rate = " + slowed + "\n";
  return "turns = " + std::to_string(s.context) + " * rate / (2 * " + library +
         ".pi)  # in the texts that it first learned from\n" + "smooth = " + library +
         ".clip((turns - float(" + exact(s.low) + ")) / (float(" + exact(s.high) + ") - float(" +
         exact(s.low) + ")), 0, 1)\n" + "rate = (1 - smooth) * " + slowed +
         " + smooth * rate  # slow pairs are slowed down\n";
}

// Angles (T, r / 2), the two features of each pair, and both turned.
std::string code(const CodeArgs& c, bool torch) {
  const std::int64_t d_head = c.args.out.axes[3].size, r = turned(d_head, c.args.params);
  const std::string library = torch ? "torch" : "np", all = std::to_string(r);
  const std::string half = std::to_string(r / 2), axis = torch ? "dim=-1)" : "axis=-1)";
  const std::string &x = c.in[0], join = torch ? ".cat([" : ".concatenate([";
  const std::int64_t begin = c.args.params.offset, end = begin + c.args.out.axes[2].size;
  const std::string places = (begin > 0 ? std::to_string(begin) + ", " : "") + std::to_string(end);
  const RotaryStretch& stretch = c.args.params.stretch;
  const bool plain = stretch.kind == RotaryScaling::kNone;
  const std::string rate = "float(" + exact(c.args.params.base) + ") ** (-" + library +
                           ".arange(0, " + all + ", 2) / " + all + ")";
  std::string text;
  if (!plain) text = "rate = " + rate + "\n" + stretch_code(stretch, library);
  text += "angle = " + library + ".arange(" + places + ")[:, None] * " + (plain ? rate : "rate") +
          "  # (" + code_size(c.args.out, 2) + ", " + half + ")\n" + "cos, sin = " + library +
          ".cos(angle), " + library + ".sin(angle)\n";
  const std::string first = c.args.params.interleaved ? "0:" + all + ":2" : ":" + half;
  const std::string second = c.args.params.interleaved ? "1:" + all + ":2" : half + ":" + all;
  text += "a, b = " + x + "[..., " + first + "], " + x + "[..., " + second + "]\n";
  const std::string turned_pair = "[a * cos - b * sin, a * sin + b * cos]";
  if (c.args.params.interleaved) {
    text += "turned = " + library + ".stack(" + turned_pair + ", " + axis +
            ".reshape(*a.shape[:-1], " + all + ")\n";
  } else {
    text +=
        "turned = " + library + join.substr(0, join.size() - 1) + turned_pair + ", " + axis + "\n";
  }
  const std::string rest = x + "[..., " + all + ":]";
  return text + c.out + " = " +
         (r == d_head ? "turned" : library + join + "turned, " + rest + "], " + axis) + "  # " +
         code_shape(c.args.out) + "\n";
}
std::string numpy(const CodeArgs& c) { return code(c, false); }
std::string torch(const CodeArgs& c) { return code(c, true); }

}  // namespace

double rotary_rate(double base, const RotaryStretch& stretch, std::int64_t i, std::int64_t pairs) {
  const double rate = std::pow(base, -static_cast<double>(i) / static_cast<double>(pairs));
  if (stretch.kind == RotaryScaling::kNone) return rate;
  const double slowed = rate / stretch.factor;
  if (stretch.kind == RotaryScaling::kLinear) return slowed;
  // How often the pair turns round in the texts that the model first learned from: `low` times or
  // less, and it is slowed down; `high` times or more, and it stays.
  const double turns = static_cast<double>(stretch.context) * rate / (2 * std::numbers::pi);
  const double smooth = std::clamp((turns - stretch.low) / (stretch.high - stretch.low), 0.0, 1.0);
  return (1 - smooth) * slowed + smooth * rate;
}

const OpInfo& rotary_op() {
  static const OpInfo info{
      .op = Op::kRotary,
      .id = "rotary",
      .phrase = "pairs of features turned by the position's angle",

      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .panes = panes,
      .numpy = numpy,
      .torch = torch,
      .detail = Detail::kPairs,
      .pairs = pairs,
      .work = {.flops = 15},
      .trials = {"b h t N", "b h t 2n"},
      .keeps_place = true,
      .gradient_reads = {.inputs = {}, .result = false},
  };
  return info;
}

}  // namespace headlight
