// The mask: 0 where a key may be looked at, −∞ where it may not, added to the scores.
#include <cmath>
#include <limits>

#include "core/ops/op.h"

namespace headlight {
namespace {

// scores (batch, head, query, key), mask (batch, query, key) -> the axes of the scores
std::vector<Axis> shape(std::span<const TensorView> in, const OpParams&) {
  expect_inputs("mask", in, 2, 2);
  const auto& s = in[0].axes;
  const auto& m = in[1].axes;
  const bool fits = s.size() == 4 && m.size() == 3 && s[0].size == m[0].size &&
                    s[2].size == m[1].size && s[3].size == m[2].size;
  if (!fits) shape_error("mask", in, "scores (batch, head, query, key), mask (batch, query, key)");
  return {s.begin(), s.end()};
}

// y[h, i, j] = S[h, i, j] where mask[i, j] = 0, and −∞ where mask[i, j] = −∞.
// Written as a choice, not a sum: a forbidden cell is −∞ whatever the score was, NaN included.
void forward(const OpArgs& args) {
  const auto& axes = args.out.axes;
  const std::int64_t cells = axes[2].size * axes[3].size;
  for (std::int64_t bh = 0; bh < axes[0].size * axes[1].size; ++bh) {
    const float* mask = args.in[1].data + bh / axes[1].size * cells;
    for (std::int64_t i = 0; i < cells; ++i) {
      args.result[bh * cells + i] = mask[i] == 0.0f ? args.in[0].data[bh * cells + i]
                                                    : -std::numeric_limits<float>::infinity();
    }
  }
}

// dS[h, i, j] += dy[h, i, j] where mask[i, j] = 0; a forbidden score is felt by nobody
void backward(const OpGradArgs& args) {
  const auto& axes = args.out.axes;
  const std::int64_t cells = axes[2].size * axes[3].size;
  for (std::int64_t bh = 0; args.d_in[0] && bh < axes[0].size * axes[1].size; ++bh) {
    const float* mask = args.in[1].data + bh / axes[1].size * cells;
    for (std::int64_t i = 0; i < cells; ++i) {
      if (mask[i] == 0.0f) args.d_in[0][bh * cells + i] += args.d_out[bh * cells + i];
    }
  }
}

OpExplanation explain(const OpArgs& args, std::span<const std::int64_t> index) {
  const std::vector<std::int64_t> score(index.begin(), index.end());
  const std::vector<std::int64_t> mask = {index[0], index[2], index[3]};
  const bool allowed = args.in[1].at(mask) == 0.0f;
  return {{{{0, score}, args.in[0].at(score), 1.0, {}, ""},
           {{1, mask},
            args.in[1].at(mask),
            1.0,
            {},
            TermNote(Message(allowed ? "explain.note.allowed" : "explain.note.forbidden"))}},
          {},
          "S[i, j] + mask[i, j]",
          {math(args.in[0].at(score)), math(" + ", " + "), math(args.in[1].at(mask))}};
}

OpExplanation explain_gradient(const OpGradArgs& args, int input,
                               std::span<const std::int64_t> index) {
  if (input != 0) return without_gradient();
  const std::vector<std::int64_t> mask = {index[0], index[2], index[3]};
  const std::string formula = "dy[i, j] · [mask[i, j] = 0]";
  if (args.in[1].at(mask) != 0.0f) {
    return zero_gradient(formula, "explain.forbidden");
  }
  return {{gradient_term(args, {index.begin(), index.end()}, 1, {{1, mask}},
                         Message("explain.note.allowed"))},
          {},
          formula};
}

std::string numpy(const CodeArgs& c) {
  return c.out + " = np.where(" + c.in[1] + " == 0, " + c.in[0] +
         ", -np.inf)  # forbidden keys become -inf; " + code_shape(c.args.in[1]) +
         " for every head\n";
}

std::string torch(const CodeArgs& c) {
  return c.out + " = " + c.in[0] + ".masked_fill(" + c.in[1] +
         " != 0, float(\"-inf\"))  # forbidden keys become -inf; " + code_shape(c.args.in[1]) +
         " for every head\n";
}

}  // namespace

const OpInfo& mask_op() {
  static const OpInfo info{
      .op = Op::kMask,
      .id = "mask",
      .phrase = "forbidden keys become −∞",
      .sign = "+",
      .shape = shape,
      .forward = forward,
      .backward = backward,
      .explain = explain,
      .explain_gradient = explain_gradient,
      .numpy = numpy,
      .torch = torch,
      .inputs = {InputKind::kNumbers, InputKind::kMask},
      .trials = {"b h t s, b t s"},
      .timed = {{TunePart::kCells, "b h s n, b s n"}},
      .keeps_place = true,
      .row_by_row = true,
      .gradient_reads = {.inputs = {false, true}, .result = false},
  };
  return info;
}

}  // namespace headlight
