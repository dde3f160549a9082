// One factor for every cell: ÷ √d_head keeps the scores' spread independent of the head's width,
// × √d_model makes embeddings as large as positions are.
#include <cmath>
#include <cstdio>

#include "core/base/number_text.h"
#include "core/ops/op.h"

namespace headlight {
namespace {

// x -> the axes of x
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  return same_shape("scale", in, 1);
}

// y = factor · x
void forward(const OpArgs& args) {
  const auto x = args.in[0].cells();
  for (std::size_t i = 0; i < x.size(); ++i) args.result[i] = x[i] * args.params.factor;
}

// dx += factor · dy
void backward(const OpGradArgs& args) {
  const std::int64_t cells = args.out.size();
  const double factor = args.params.factor;
  for (std::int64_t i = 0; args.d_in[0] && i < cells; ++i) {
    args.d_in[0][i] = static_cast<float>(args.d_in[0][i] + factor * args.d_out[i]);
  }
}

// The n of 1 / √n when the factor is one; else 0, as where it is a number of its own.
std::int64_t width_of(const OpParams& params) {
  const double f = params.factor;
  if (!(f > 1e-6) || params.own_factor) return 0;
  const auto n = static_cast<std::int64_t>(std::llround(1.0 / (f * f)));
  return n > 0 && static_cast<float>(1.0 / std::sqrt(static_cast<double>(n))) == params.factor ? n
                                                                                               : 0;
}

// The n of √n when the factor is one above 1; else 0.
std::int64_t square_of(const OpParams& params) {
  const double f = params.factor;
  if (!(f > 1) || f > 1e6 || params.own_factor) return 0;
  const auto n = static_cast<std::int64_t>(std::llround(f * f));
  return static_cast<float>(std::sqrt(static_cast<double>(n))) == params.factor ? n : 0;
}

// What is said of the factor.
struct FactorWords {
  const char *name, *forward, *backward;
};
FactorWords factor_words(const OpParams& params) {
  if (params.own_factor) return {"s", "S[i, j] · s", "dy[i, j] · s"};
  if (square_of(params) > 0) return {"√d_model", "√d · x[t, f]", "√d · dy[t, f]"};
  return {"1 / √d_k", "S[i, j] / √d_k", "dy[i, j] / √d_k"};
}

// x / √16 = x / 4, x × √64 = x × 8
MathLine written(double x, const OpParams& params) {
  MathLine line = {math(x)};
  if (const std::int64_t square = square_of(params)) {
    const std::string n = std::to_string(square);
    line.push_back(math(" × √" + n + " = ", " \\times \\sqrt{" + n + "} = "));
    line.push_back(math(x));
    line.push_back(math(" × ", " \\times "));
    line.push_back(math(static_cast<double>(params.factor)));
    return line;
  }
  if (const std::int64_t width = width_of(params)) {
    const std::string n = std::to_string(width);
    line.push_back(math(" / √" + n + " = ", " / \\sqrt{" + n + "} = "));
    line.push_back(math(x));
  }
  if (params.own_factor) {
    line.push_back(math(" × ", " \\times "));
    line.push_back(math(static_cast<double>(params.factor)));
    return line;
  }
  line.push_back(math(" / ", " / "));
  line.push_back(math(1.0 / static_cast<double>(params.factor)));
  return line;
}

OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::vector<std::int64_t> cell(index.begin(), index.end());
  const double x = args.in[0].at(cell), factor = args.params.factor;
  const FactorWords said = factor_words(args.params);
  return {{{{0, cell}, x, factor, {}, said.name}},
          {{"factor", factor}},
          said.forward,
          written(x, args.params)};
}

OpExplanation explain_gradient(const OpGradArgs& args, int, std::span<const std::int64_t> index) {
  const double factor = args.params.factor;
  const FactorWords said = factor_words(args.params);
  const OpTerm term = gradient_term(args, {index.begin(), index.end()}, factor, {}, said.name);
  return {{term}, {{"factor", factor}}, said.backward, written(term.value, args.params)};
}

// "÷ √16", "÷ 4"; "× 0.1"; "× √64", "× 8"
std::vector<std::string> arrow(const OpArgs& args) {
  if (args.params.own_factor) return {"× " + number_text(args.params.factor, 4)};
  if (const std::int64_t n = square_of(args.params))
    return {"× √" + count_text(n), "× " + number_text(static_cast<double>(args.params.factor), 4)};
  const double divisor = 1.0 / static_cast<double>(args.params.factor);
  const double square = divisor * divisor, whole = std::round(square);
  std::vector<std::string> lines;
  if (std::fabs(square - whole) < 1e-4 * square) {
    lines.push_back("÷ √" + count_text(static_cast<long long>(whole)));
  }
  lines.push_back("÷ " + (divisor == std::round(divisor) ? exact_number(static_cast<float>(divisor))
                                                         : number_text(divisor, 4)));
  return lines;
}

OpWords words(const OpParams& params) {
  if (params.own_factor) return {"factor", "multiplied by one factor"};
  return {"scale", "divided by √d_head"};
}

std::string code(const CodeArgs& c) {
  const std::int64_t width = width_of(c.args.params), square = square_of(c.args.params);
  if (square > 0)
    return c.out + " = " + c.in[0] + " * " + std::to_string(square) +
           " ** 0.5  # times the root of d_model\n";
  char factor[32];
  std::snprintf(factor, sizeof factor, " * %.9g", static_cast<double>(c.args.params.factor));
  return c.out + " = " + c.in[0] +
         (width > 0 ? " / " + std::to_string(width) + " ** 0.5  # divided by the root of d_head"
                    : std::string(factor)) +
         "\n";
}

}  // namespace

const OpInfo& scale_op() {
  static const OpInfo info{
      .op = Op::kScale,
      .id = "scale",
      .phrase = "divided by √d_head",
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .numpy = code,
      .torch = code,
      .arrow = arrow,
      .trials = {"b h t s"},
      .keeps_place = true,
      .row_by_row = true,
      .gradient_reads = {.inputs = {}, .result = false},
      .words = words,
  };
  return info;
}

}  // namespace headlight
