#include "core/backends/cpu/backward_calls.h"
#include "core/backends/cpu/heads/head_calls.h"
#include "core/backends/cpu/mixers/mixers.h"
#include "core/backends/cpu/numbers/number_calls.h"

#include <algorithm>
#include <utility>

#include "core/backends/cpu/experts/expert_calls.h"

namespace headlight::cpu {
namespace {

using kernels::Into;

// How much more work a gradient is than its operation: a product has two of them.
constexpr double kTimesTheWork = 2;

GradientCall gradient_call(const Program& program, const BackwardCall& step,
                           std::span<float* const> memory, std::span<float* const> gradients) {
  const OpCall& call = program.calls[static_cast<std::size_t>(step.call)];
  GradientCall g{Call(program, call, memory), gradients[static_cast<std::size_t>(call.out)], {}};
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    if (step.uses[i] == GradientUse::kNone) continue;
    g.d_in[i] = {gradients[static_cast<std::size_t>(call.in[i])],
                 step.uses[i] == GradientUse::kAdded};
  }
  return g;
}

void clear(Into into, std::int64_t cells) {
  if (!into.adds) std::fill_n(into.cells, cells, 0.0f);
}

}  // namespace

void BackwardPass::run(const Program& program, std::span<const BackwardCall> calls,
                       std::span<float* const> memory, std::span<float* const> gradients) {
  pieces_.begin_run([&] {
    double work = 0;
    for (const BackwardCall& step : calls) {
      const OpCall& call = program.calls[static_cast<std::size_t>(step.call)];
      work += kTimesTheWork * work_of(Call(program, call, {}));
    }
    return work;
  });
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (fusion_ && run_fused(program, calls.subspan(i), memory, gradients)) continue;
    run_call(gradient_call(program, calls[i], memory, gradients));
  }
}

// The first of these steps, where it belongs to a group: all of a group's are taken at its first,
// the others follow it.
bool BackwardPass::run_fused(const Program& program, std::span<const BackwardCall> steps,
                             std::span<float* const> memory, std::span<float* const> gradients) {
  const OpCall& call = program.calls[static_cast<std::size_t>(steps[0].call)];
  if (fusion_->is_between(call.out)) return true;
  if (fusion_->keeps_slope(call.out)) {
    const GradientCall g = gradient_call(program, steps[0], memory, gradients);
    if (g.d_in[0].cells) kernels::multiply_backward(g.d_out, g.c.in[0], g.d_in[0], g.c.cells());
    return true;
  }
  const FusedAttention* a = fusion_->attention(call.out);
  if (!a) return false;
  const auto into = [&](TensorId id, int made_by, int input) -> Into {
    for (const BackwardCall& step : steps) {
      if (step.call != made_by) continue;
      const GradientUse use = step.uses[static_cast<std::size_t>(input)];
      if (use == GradientUse::kNone) return {};
      return {gradients[static_cast<std::size_t>(id)], use == GradientUse::kAdded};
    }
    return {};
  };
  attention_.run_backward(program, *a, memory, gradients[static_cast<std::size_t>(call.out)],
                          {into(a->q, a->q_call, 0), into(a->k, a->k_call, a->k_input),
                           into(a->v, a->v_call, a->v_input)});
  return true;
}

void BackwardPass::run_call(const GradientCall& g) {
  if (g.c.cells() == 0) {  // an empty batch
    for (std::size_t i = 0; i < g.c.call.in.size(); ++i) {
      if (g.d_in[i].cells) clear(g.d_in[i], cell_count(g.c.axes[i]));
    }
    return;
  }
  pieces_.begin_call([&] { return kTimesTheWork * work_of(g.c); });
  switch (g.c.call.op) {
    case Op::kLinear:
      return linear(g);
    case Op::kLinearTransposed:
      return linear_transposed(g);
    case Op::kProject:
      return project(g);
    case Op::kScores:
      return operands(g, scores_product(g.c));
    case Op::kWeightedSum:
      return operands(g, weighted_sum_product(g.c));
    case Op::kFocusScores:
      return focus_scores(g);
    case Op::kAdditiveScores:
      return additive_scores(g);
    case Op::kLayerNorm:
    case Op::kRmsNorm:
      return layer_norm(g);
    case Op::kRotary:
      return rotary(g);
    case Op::kAdd:
      return add(g);
    case Op::kMultiply:
      return multiply(g);
    case Op::kScale:
    case Op::kRelu:
    case Op::kGelu:
    case Op::kGeluTanh:
    case Op::kSilu:
    case Op::kTanh:
    case Op::kDropout:
      return cell_by_cell(g);
    case Op::kMask:
    case Op::kSoftmax:
    case Op::kCrossEntropy:
      return row_by_row(g);
    case Op::kEmbed:
      return embed(g);
    case Op::kLearnedPosition:
      return learned_position(g);
    case Op::kSplitHeads:
    case Op::kConcatHeads:
      return move_rows_back(g);
    case Op::kMeanPool:
    case Op::kConcatTokens:
      return pool(g);
    case Op::kFociPenalty:
      return foci_penalty(g);
    case Op::kSinusoid:
      return;
    case Op::kAlibi:
    case Op::kDistanceBias:
    case Op::kDistanceSinusoid:
    case Op::kRelativeScores:
    case Op::kRelativeSum:
    case Op::kShiftHeads:
      return distances_.run_backward(g.c, g.d_out, g.d_in);
    case Op::kRecurrence:
    case Op::kGru:
    case Op::kConvolution:
      run_mixer_backward(pieces_, g, scratch_);
      if (g.c.call.op == Op::kConvolution)
        bias(g.d_out, as_rows(g.c.out_axes).rows, g.c.out_axes.back().size, g.d_in[3]);
      return;
    case Op::kExpertLinear:
    case Op::kTopExperts:
    case Op::kMix:
    case Op::kLoadBalance:
      return run_experts_backward(pieces_, g);
    case Op::kConcatRows:
      return concat_rows(g);
    case Op::kNumber:
    case Op::kMixtureLogits:
      return run_numbers_backward(pieces_, g);
    case Op::kAppendRow:
    case Op::kMaskHeads:
    case Op::kMeanHeads:
      return run_heads_backward(pieces_, g);
    case Op::kFusedAttention:
      return fused_.run_backward(g.c, g.d_out, g.d_in);
  }
}

// Each matrix of scores gives its own part of dv; the parts are added in order of the batch. A
// piece has all heads that share a head of keys.
void BackwardPass::additive_scores(const GradientCall& g) {
  const std::int64_t batch = g.c.out_axes[0].size, heads = g.c.out_axes[1].size;
  const std::int64_t queries = g.c.out_axes[2].size, keys = g.c.out_axes[3].size;
  const std::int64_t width = g.c.axes[0][3].size;
  const std::int64_t share = heads_per_kv(g.c.axes[0], g.c.axes[1]);
  float* parts = scratch(batch * heads * width);
  const Into d_q = g.d_in[0], d_k = g.d_in[1], d_v = g.d_in[2];
  pieces_.for_pieces(batch * heads / share, [&](std::int64_t group, float*) {
    const std::int64_t k0 = group * keys * width;
    if (d_k.cells) clear(d_k + k0, keys * width);
    for (std::int64_t matrix = group * share; matrix < (group + 1) * share; ++matrix) {
      const std::int64_t q0 = matrix * queries * width;
      if (d_q.cells) clear(d_q + q0, queries * width);
      std::fill_n(parts + matrix * width, width, 0.0f);
      kernels::additive_scores_backward({.q = g.c.in[0] + q0,
                                         .k = g.c.in[1] + k0,
                                         .v = g.c.in[2] + matrix % heads * width,
                                         .d = g.d_out + matrix * queries * keys,
                                         .d_q = d_q.cells ? d_q.cells + q0 : nullptr,
                                         .d_k = d_k.cells ? d_k.cells + k0 : nullptr,
                                         .d_v = parts + matrix * width,
                                         .queries = queries,
                                         .keys = keys,
                                         .width = width});
    }
  });
  if (d_v.cells) kernels::column_sums(parts, batch, heads * width, heads * width, d_v);
}

// Each stretch of rows gives its own part of dw and db; the parts are added in order.
void BackwardPass::layer_norm(const GradientCall& g) {
  const RowShape shape = as_rows(g.c.out_axes);
  const std::int64_t n = shape.columns, length = std::max<std::int64_t>(1, kPieceCells / n);
  const std::int64_t pieces = parts_of(shape.rows, length);
  const Into d_w = g.d_in[1], d_b = g.d_in[2];
  float* sums = d_w.cells || d_b.cells ? scratch(pieces * 2 * n) : nullptr;
  pieces_.for_pieces(pieces, [&](std::int64_t piece, float*) {
    const std::int64_t begin = piece * length, end = std::min(shape.rows, begin + length);
    float* sum = sums ? sums + piece * 2 * n : nullptr;
    if (sum) std::fill_n(sum, 2 * n, 0.0f);
    kernels::layer_norm_backward({.x = g.c.in[0] + begin * n,
                                  .weight = g.c.in[1],
                                  .d = g.d_out + begin * n,
                                  .epsilon = g.c.call.params.epsilon,
                                  .centred = g.c.call.op == Op::kLayerNorm,
                                  .d_x = g.d_in[0].cells ? g.d_in[0] + begin * n : kernels::Into{},
                                  .sums = sum,
                                  .rows = end - begin,
                                  .n = n});
  });
  if (d_w.cells) kernels::column_sums(sums, pieces, 2 * n, n, d_w);
  if (d_b.cells) kernels::column_sums(sums + n, pieces, 2 * n, n, d_b);
}

void BackwardPass::cell_by_cell(const GradientCall& g) {
  if (!g.d_in[0].cells) return;
  pieces_.for_stretches(g.c.cells(), 1, [&](std::int64_t begin, std::int64_t end) {
    const float *x = g.c.in[0] + begin, *d = g.d_out + begin;
    const Into into = g.d_in[0] + begin;
    const std::int64_t n = end - begin;
    switch (g.c.call.op) {
      case Op::kDropout:
        return kernels::multiply_backward(d, g.c.in[1] + begin, into, n);
      case Op::kScale:
        return kernels::scale_backward(d, g.c.call.params.factor, into, n);
      case Op::kRelu:
        return kernels::relu_backward(x, d, into, n);
      case Op::kGelu:
        return kernels::gelu_backward(x, d, into, n);
      case Op::kSilu:
        return kernels::silu_backward(x, d, into, n);
      case Op::kTanh:
        return kernels::tanh_backward(x, g.c.call.params.factor, d, into, n);
      default:
        return kernels::gelu_tanh_backward(x, d, into, n);
    }
  });
}

void BackwardPass::row_by_row(const GradientCall& g) {
  if (!g.d_in[0].cells) return;
  const RowShape shape = as_rows(g.c.axes[0]);
  const std::int64_t n = shape.columns;
  pieces_.for_stretches(shape.rows, n, [&](std::int64_t begin, std::int64_t end) {
    if (g.c.call.op == Op::kCrossEntropy) {
      return kernels::cross_entropy_backward(g.c.in[0] + begin * n, g.c.in[1] + begin,
                                             g.d_out + begin, g.d_in[0] + begin * n, end - begin,
                                             n);
    }
    for (std::int64_t row = begin; row < end; ++row) {
      const Into into = g.d_in[0] + row * n;
      if (g.c.call.op == Op::kSoftmax) {
        kernels::softmax_backward_row(g.c.out + row * n, g.d_out + row * n,
                                      g.c.call.params.temperature, into, n);
      } else {
        kernels::mask_backward(g.d_out + row * n, g.c.in[1] + mask_row(g.c, row) * n, into, n);
      }
    }
  });
}

void BackwardPass::add(const GradientCall& g) {
  for (const Into& into : g.d_in) {
    if (!into.cells) continue;
    pieces_.for_stretches(g.c.cells(), 1, [&](std::int64_t begin, std::int64_t end) {
      kernels::pass_gradient(g.d_out + begin, into + begin, end - begin);
    });
  }
}

// Each factor feels the sum by what the other one is.
void BackwardPass::multiply(const GradientCall& g) {
  for (std::size_t input = 0; input < 2; ++input) {
    const Into into = g.d_in[input];
    const float* other = g.c.in[1 - input];
    if (!into.cells) continue;
    pieces_.for_stretches(g.c.cells(), 1, [&](std::int64_t begin, std::int64_t end) {
      kernels::multiply_backward(g.d_out + begin, other + begin, into + begin, end - begin);
    });
  }
}

void BackwardPass::rotary(const GradientCall& g) {
  if (!g.d_in[0].cells) return;
  const std::int64_t positions = g.c.out_axes[2].size, width = g.c.out_axes[3].size;
  const std::int64_t first = g.c.call.params.offset;
  kernels::Rotary turn = angles_.of(g.c.call.params, first + positions, width);
  turn.back = true;
  pieces_.for_stretches(g.c.cells() / width, width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      kernels::rotate_row(turn, first + row % positions, g.d_out + row * width,
                          g.d_in[0] + row * width);
    }
  });
}

void BackwardPass::pool(const GradientCall& g) {
  if (!g.d_in[0].cells) return;
  const std::int64_t positions = g.c.axes[0][1].size, width = g.c.axes[0][2].size;
  const bool concat = g.c.call.op == Op::kConcatTokens;
  const auto kernel = concat ? kernels::keep_present_backward : kernels::mean_pool_backward;
  const std::int64_t row = g.c.out_axes[1].size;
  pieces_.for_stretches(g.c.axes[0][0].size, positions * width,
                        [&](std::int64_t begin, std::int64_t end) {
                          for (std::int64_t b = begin; b < end; ++b) {
                            kernel(g.d_out + b * row, g.c.in[1] + b * positions, positions, width,
                                   g.d_in[0] + b * positions * width);
                          }
                        });
}

void BackwardPass::foci_penalty(const GradientCall& g) {
  if (!g.d_in[0].cells) return;
  const std::int64_t foci = g.c.axes[0][3].size, cells = g.c.axes[0][1].size * foci * foci;
  for (std::int64_t b = 0; b < g.c.cells(); ++b) {
    kernels::distance_backward(g.c.in[0] + b * cells, 2 * g.c.call.params.factor * g.d_out[b], foci,
                               cells, g.d_in[0] + b * cells);
  }
}

// Several tokens may have one row of the table: each piece has some columns of all of them.
void BackwardPass::embed(const GradientCall& g) {
  const Into into = g.d_in[1];
  if (!into.cells) return;
  const std::int64_t width = g.c.axes[1][1].size, tokens = g.c.cells() / width;
  clear(into, g.c.axes[1][0].size * width);
  const std::int64_t stripe = 4 * kernels::kPacketColumns;
  pieces_.for_pieces(parts_of(width, stripe), [&](std::int64_t piece, float*) {
    const std::int64_t begin = piece * stripe, columns = std::min(stripe, width - begin);
    for (std::int64_t t = 0; t < tokens; ++t) {
      const std::int64_t row = source_row(g.c, t);
      kernels::pass_gradient(g.d_out + t * width + begin, {into.cells + row * width + begin, true},
                             columns);
    }
  });
}

void BackwardPass::learned_position(const GradientCall& g) {
  const Into into = g.d_in[1];
  if (!into.cells) return;
  const std::int64_t batch = g.c.out_axes[0].size, width = g.c.out_axes[2].size;
  const std::int64_t used = g.c.out_axes[1].size * width, all = g.c.axes[1][0].size * width;
  const std::int64_t first = g.c.call.params.offset * width;
  clear(into, first);  // rows before the first position, and past the last one
  clear(into + (first + used), all - first - used);
  pieces_.for_stretches(used, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = 0; b < batch; ++b) {
      kernels::pass_gradient(g.d_out + b * used + begin,
                             {into.cells + first + begin, into.adds || b > 0}, end - begin);
    }
  });
}

// Splitting and joining heads: every row goes back to where it was found.
void BackwardPass::move_rows_back(const GradientCall& g) {
  const Into into = g.d_in[0];
  if (!into.cells) return;
  const std::int64_t width = moved_width(g.c);
  pieces_.for_stretches(g.c.cells() / width, width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      kernels::pass_gradient(g.d_out + row * width, into + source_row(g.c, row) * width, width);
    }
  });
}

// Each input feels its own part of the rows.
void BackwardPass::concat_rows(const GradientCall& g) {
  const std::int64_t width = g.c.out_axes[2].size, item = g.c.out_axes[1].size * width;
  std::int64_t first = 0;
  for (const std::size_t i : {0, 1}) {
    const std::int64_t cells = g.c.axes[i][1].size * width;
    const float* d = g.d_out + std::exchange(first, cells);
    if (!g.d_in[i].cells) continue;
    pieces_.for_stretches(g.c.out_axes[0].size, cells, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b)
        kernels::pass_gradient(d + b * item, g.d_in[i] + b * cells, cells);
    });
  }
}

float* BackwardPass::scratch(std::int64_t cells) {
  if (scratch_.size() < static_cast<std::size_t>(cells)) {
    scratch_.resize(static_cast<std::size_t>(cells));
  }
  return scratch_.data();
}

}  // namespace headlight::cpu
