// The mixture: what the experts say, weighted by the gate and added up. The weighted average of
// attention, over experts instead of tokens.
#include <algorithm>

#include "core/ops/op.h"

namespace headlight {
namespace {

// As many experts stand side by side on a page; of more the chosen one does.
constexpr std::int64_t kMostShown = 8;

// G (batch, position, expert), Y (batch, expert, position, feature) -> (batch, position, feature)
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("mix", in, 2, 2);
  const auto &g = in[0].axes, &y = in[1].axes;
  const bool fits = g.size() == 3 && y.size() == 4 && g[0].size == y[0].size &&
                    g[1].size == y[2].size && g[2].size == y[1].size;
  if (!fits)
    shape_error("mix", in, "G (batch, position, expert) and Y (batch, expert, position, n)");
  return {g[0], g[1], y[3]};
}

struct Sizes {
  std::int64_t batch, positions, experts, width;
};
Sizes sizes_of(std::span<const TensorView> in) {
  const auto& g = in[0].axes;
  return {g[0].size, g[1].size, g[2].size, in[1].axes[3].size};
}

// y[t, f] = Σ_e G[t, e] · Y[e, t, f]. An expert of weight 0 is left out, not multiplied: what it
// would have said does not matter.
void forward(const OpArgs& args) {
  const Sizes z = sizes_of(args.in);
  for (std::int64_t b = 0; b < z.batch; ++b) {
    for (std::int64_t t = 0; t < z.positions; ++t) {
      const float* g = args.in[0].data + (b * z.positions + t) * z.experts;
      for (std::int64_t f = 0; f < z.width; ++f) {
        double sum = 0;
        for (std::int64_t e = 0; e < z.experts; ++e) {
          if (g[e] == 0) continue;
          const std::int64_t row = (b * z.experts + e) * z.positions + t;
          sum += static_cast<double>(g[e]) * args.in[1].data[row * z.width + f];
        }
        args.result[(b * z.positions + t) * z.width + f] = static_cast<float>(sum);
      }
    }
  }
}

// dG[t, e]    += Σ_f dy[t, f] · Y[e, t, f]
// dY[e, t, f] += dy[t, f] · G[t, e]
void backward(const OpGradArgs& args) {
  const Sizes z = sizes_of(args.in);
  for (std::int64_t b = 0; b < z.batch; ++b) {
    for (std::int64_t t = 0; t < z.positions; ++t) {
      const float* dy = args.d_out + (b * z.positions + t) * z.width;
      for (std::int64_t e = 0; e < z.experts; ++e) {
        const std::int64_t weight = (b * z.positions + t) * z.experts + e;
        const std::int64_t row = ((b * z.experts + e) * z.positions + t) * z.width;
        if (float* dg = args.d_in[0]) {
          double sum = dg[weight];
          for (std::int64_t f = 0; f < z.width; ++f)
            sum += static_cast<double>(dy[f]) * args.in[1].data[row + f];
          dg[weight] = static_cast<float>(sum);
        }
        for (std::int64_t f = 0; args.d_in[1] && f < z.width; ++f) {
          float& d = args.d_in[1][row + f];
          d = static_cast<float>(d + static_cast<double>(dy[f]) * args.in[0].data[weight]);
        }
      }
    }
  }
}

OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  OpExplanation result;
  result.formula = "Σ_e G[t, e] · Y[e, t, f]";
  for (std::int64_t e = 0; e < args.in[0].axes[2].size; ++e) {
    const std::vector<std::int64_t> g = {index[0], index[1], e};
    const std::vector<std::int64_t> y = {index[0], e, index[1], index[2]};
    result.terms.push_back({{0, g}, args.in[0].at(g), args.in[1].at(y), {{1, y}}, ""});
  }
  return result;
}

OpExplanation explain_gradient(const OpGradArgs& args, int input,
                               std::span<const std::int64_t> index) {
  OpExplanation result;
  if (input == 1) {
    result.formula = "dy[t, f] · G[t, e]";
    const std::vector<std::int64_t> g = {index[0], index[2], index[1]};
    result.terms.push_back(
        gradient_term(args, {index[0], index[2], index[3]}, args.in[0].at(g), {{0, g}}));
    return result;
  }
  result.formula = "Σ_f dy[t, f] · Y[e, t, f]";
  for (std::int64_t f = 0; f < args.out.axes[2].size; ++f) {
    const std::vector<std::int64_t> y = {index[0], index[2], index[1], f};
    result.terms.push_back(
        gradient_term(args, {index[0], index[1], f}, args.in[1].at(y), {{1, y}}));
  }
  return result;
}

// The gate's weights, what each expert says, and the sum of it all.
std::vector<Pane> panes(const OpArgs& args, std::int64_t head) {
  const Sizes z = sizes_of(args.in);
  Pane g = matrix_pane(args.in[0], 0, PaneRole::kOperand, 0);
  g.column_follow = Follow::kFree;
  std::vector<Pane> result = {g};
  const bool all = z.experts <= kMostShown;
  const std::int64_t chosen = std::min(head, z.experts - 1);
  const std::int64_t first = all ? 0 : chosen, past = all ? z.experts : chosen + 1;
  for (std::int64_t e = first; e < past; ++e) {
    result.push_back(matrix_pane(args.in[1], 1, PaneRole::kOperand, 0));
    result.back().offset = e * z.positions * z.width;
    result.back().head_columns = z.width;
    result.back().first_head = e;
  }
  result.push_back(matrix_pane(args.out, -1, PaneRole::kResult, 0));
  return result;
}

std::string code(const CodeArgs& c, const std::string& library) {
  return c.out + " = " + library + ".einsum(\"te,etf->tf\", " + c.in[0] + ", " + c.in[1] + ")  # " +
         code_shape(c.args.in[0]) + ", " + code_shape(c.args.in[1]) + " -> " +
         code_shape(c.args.out) + "\n";
}
std::string numpy(const CodeArgs& c) { return code(c, "np"); }
std::string torch(const CodeArgs& c) { return code(c, "torch"); }

}  // namespace

const OpInfo& mix_op() {
  static const OpInfo info{
      .op = Op::kMix,
      .id = "mix",
      .phrase = "what the experts say, weighted by the gate and summed",
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .panes = panes,
      .numpy = numpy,
      .torch = torch,
      .errors = ErrorClass::kProducts,
      .work = {.flops = 16},
      .trials = {"b t h, b h t n"},
      .gradient_reads = {.inputs = {true, true}, .result = false},
  };
  return info;
}

}  // namespace headlight
