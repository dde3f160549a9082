// tanh, cell by cell, of a row's numbers where tokens are pooled; with a limit f of its own f ·
// tanh(x / f), which leaves scores far below the limit almost as they are (Gemma 2, "logit
// soft-capping").
#include <cmath>

#include "core/base/number_text.h"
#include "core/ops/op.h"

namespace headlight {
namespace {

// x -> the axes of x
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  return same_shape("tanh", in, 1);
}

bool is_plain(const OpParams& params) { return params.factor == 1; }

// f · tanh(x / f)
double value(double x, const OpParams& params) {
  const double f = params.factor;
  return f * std::tanh(x / f);
}

// 1 − tanh²(x / f)
double slope(double x, const OpParams& params) {
  const double t = std::tanh(x / params.factor);
  return 1.0 - t * t;
}

void forward(const OpArgs& args) {
  const auto x = args.in[0].cells();
  for (std::size_t i = 0; i < x.size(); ++i)
    args.result[i] = static_cast<float>(value(x[i], args.params));
}

// dx += dy · slope(x), cell by cell
void backward(const OpGradArgs& args) {
  const auto x = args.in[0].cells();
  for (std::size_t i = 0; args.d_in[0] && i < x.size(); ++i) {
    args.d_in[0][i] =
        static_cast<float>(args.d_in[0][i] + args.d_out[i] * slope(x[i], args.params));
  }
}

// f × tanh(x / f)
MathLine written(double x, const OpParams& params) {
  if (is_plain(params)) return {math("tanh(", "\\tanh("), math(x), math(")", ")")};
  const double f = params.factor;
  return {math(f),       math(" × tanh(", " \\times \\tanh("), math(x), math(" / ", " / "), math(f),
          math(")", ")")};
}

// The factor of the only term is tanh(x) / x, which nobody asks for.
OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::vector<std::int64_t> cell(index.begin(), index.end());
  const bool plain = is_plain(args.params);
  const double x = args.in[0].at(cell), factor = x == 0 ? 1.0 : value(x, args.params) / x;
  OpExplanation result;
  result.terms = {{{0, cell}, x, factor, {}, plain ? "tanh(x) / x" : "f · tanh(x / f) / x"}};
  if (!plain) result.quantities = {{"limit f", args.params.factor}};
  result.formula = plain ? "tanh(x)" : "f · tanh(x / f)";
  result.written = written(x, args.params);
  return result;
}

OpExplanation explain_gradient(const OpGradArgs& args, int, std::span<const std::int64_t> index) {
  const std::vector<std::int64_t> cell(index.begin(), index.end());
  const bool plain = is_plain(args.params);
  const double grows = slope(args.in[0].at(cell), args.params);
  OpTerm term =
      gradient_term(args, cell, grows, {{0, cell}}, plain ? "1 − tanh²(x)" : "1 − tanh²(x / f)");
  term.written = {math(grows)};
  OpExplanation result;
  result.quantities = {{"slope", grows}};
  if (!plain) result.quantities.push_back({"limit f", args.params.factor});
  result.formula = plain ? "dy · (1 − tanh²(x))" : "dy · (1 − tanh²(x / f))";
  result.written = {math(term.value), math(" × ", " \\times "), math(grows)};
  result.terms.push_back(std::move(term));
  return result;
}

// x, and what the run made of it.
OpRow open_row(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::int64_t n = args.out.axes.back().size;
  const std::int64_t begin = flat_index(args.out.axes, index) - index.back();
  const float *x = args.in[0].data + begin, *y = args.out.data + begin;
  return {{}, {{"x", {x, x + n}}, {"activated", {y, y + n}}}};
}

OpWords words(const OpParams& params) {
  if (is_plain(params)) return {"tanh", "a number pressed between −1 and 1"};
  return {"softcap", "a number pressed between −f and f"};
}

std::string code(const CodeArgs& c, const std::string& library) {
  const std::string f = exact_number(c.args.params.factor);
  return is_plain(c.args.params)
             ? c.out + " = " + library + ".tanh(" + c.in[0] + ")\n"
             : c.out + " = " + f + " * " + library + ".tanh(" + c.in[0] + " / " + f + ")\n";
}
std::string numpy(const CodeArgs& c) { return code(c, "np"); }
std::string torch(const CodeArgs& c) { return code(c, "torch"); }

}  // namespace

const OpInfo& tanh_op() {
  static const OpInfo info{
      .op = Op::kTanh,
      .id = "tanh",
      .phrase = "a number pressed between −1 and 1",
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .numpy = numpy,
      .torch = torch,
      .detail = Detail::kCurve,
      .open_row = open_row,
      .curve = value,
      .errors = ErrorClass::kRows,
      .work = {.flops = 50},
      .trials = {"b t n"},
      .keeps_place = true,
      .row_by_row = true,
      .gradient_reads = {.inputs = {true}, .result = false},
      .words = words,
  };
  return info;
}

}  // namespace headlight
