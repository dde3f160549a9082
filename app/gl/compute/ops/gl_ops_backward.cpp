// The gradients: for each input that one is wanted of, the kernel that makes it.
#include "app/gl/compute/ops/gl_ops.h"

#include <utility>

namespace headlight {

GlReads backward_reads(Op op) {
  switch (op) {
    case Op::kSinusoid:
    case Op::kAdd:
    case Op::kScale:
    case Op::kLearnedPosition:
    case Op::kSplitHeads:
    case Op::kConcatHeads:
    case Op::kRotary:
    case Op::kAlibi:
    case Op::kDistanceBias:
    case Op::kDistanceSinusoid:
    case Op::kShiftHeads:
    case Op::kRecurrence:
    case Op::kGru:
    case Op::kConcatRows:
    case Op::kNumber:
    case Op::kAppendRow:
    case Op::kMeanHeads:
      return {};
    case Op::kSoftmax:
      return {{}, true};
    case Op::kEmbed:
    case Op::kRelu:
    case Op::kGelu:
    case Op::kGeluTanh:
    case Op::kSilu:
    case Op::kTanh:
    case Op::kFociPenalty:
      return {{true}, false};
    case Op::kDropout:
    case Op::kMask:
    case Op::kMaskHeads:
    case Op::kMeanPool:
    case Op::kConcatTokens:
      return {{false, true}, false};
    case Op::kAdditiveScores:
      return {{true, true, true}, false};
    case Op::kMultiply:
    case Op::kRmsNorm:
    case Op::kLayerNorm:
    case Op::kProject:
    case Op::kLinear:
    case Op::kLinearTransposed:
    case Op::kScores:
    case Op::kWeightedSum:
    case Op::kFocusScores:
    case Op::kCrossEntropy:
    case Op::kRelativeScores:
    case Op::kRelativeSum:
      return {{true, true}, false};
    case Op::kExpertLinear:
    case Op::kMix:
      return {{true, true}, false};
    case Op::kTopExperts:
      return {{true}, true};
    case Op::kLoadBalance:
    case Op::kConvolution:
      return {{true, true, true}, false};
    case Op::kMixtureLogits:
      return {{true, true, true}, true};
    case Op::kFusedAttention:
      return {{true, true, true, true}, false};
  }
  return {};
}

void GlOps::backward(const GlOpCall& c, const GlOpGradients& d) {
  if (c.cells() == 0) return;
  switch (c.call.op) {
    case Op::kSinusoid:
      return;  // nothing feels the waves
    case Op::kAdd:
    case Op::kScale:
    case Op::kRelu:
    case Op::kGelu:
    case Op::kGeluTanh:
    case Op::kSilu:
    case Op::kTanh:
    case Op::kMultiply:
    case Op::kDropout:
    case Op::kMask:
      return backward_cells(c, d);
    case Op::kEmbed:
      return backward_embed(c, d);
    case Op::kLearnedPosition:
    case Op::kSplitHeads:
    case Op::kConcatHeads:
      return backward_moves(c, d);
    case Op::kMeanPool:
    case Op::kConcatTokens:
    case Op::kFociPenalty:
      return backward_pooling(c, d);
    case Op::kFocusScores:
      return backward_foci(c, d);
    case Op::kSoftmax:
    case Op::kCrossEntropy:
      return backward_rows(c, d);
    case Op::kLayerNorm:
    case Op::kRmsNorm:
      return backward_norm(c, d);
    case Op::kLinear:
      return backward_linear(c, d);
    case Op::kProject:
      return backward_project(c, d);
    case Op::kScores:
    case Op::kWeightedSum:
    case Op::kLinearTransposed:
      return backward_attention(c, d);
    case Op::kAdditiveScores:
      return backward_additive(c, d);
    case Op::kRotary:
      if (d.d_in[0] != 0) rotary(c, d.d_out, d.d_in[0], true, d.adds[0]);
      return;
    case Op::kAlibi:
    case Op::kDistanceBias:
    case Op::kDistanceSinusoid:
    case Op::kRelativeScores:
    case Op::kRelativeSum:
    case Op::kShiftHeads:
      return backward_distance(c, d);
    case Op::kExpertLinear:
    case Op::kTopExperts:
    case Op::kMix:
    case Op::kLoadBalance:
      return backward_experts(c, d);
    case Op::kConcatRows:
      return backward_concat_rows(c, d);
    case Op::kRecurrence:
    case Op::kGru:
      return;  // fits() refuses them
    case Op::kConvolution:
      return backward_convolution(c, d);
    case Op::kNumber:
    case Op::kMixtureLogits:
      return backward_numbers(c, d);
    case Op::kAppendRow:
    case Op::kMaskHeads:
    case Op::kMeanHeads:
      return backward_heads(c, d);
    case Op::kFusedAttention:
      return backward_fused(c, d);
  }
}

// Each input feels its own part of the rows.
void GlOps::backward_concat_rows(const GlOpCall& c, const GlOpGradients& d) {
  std::int64_t first = 0;
  for (const std::size_t i : {0, 1}) {
    const std::int64_t own = c.size(i, 1) * c.size(i, 2), begin = std::exchange(first, own);
    if (d.d_in[i] == 0) continue;
    run_cells(Kernel::kConcatRowsBackward, cell_count(c.axes[i]), {d.d_out, d.d_in[i]},
              {{"cells", cell_count(c.axes[i])},
               {"adds", d.adds[i]},
               {"own", own},
               {"item", c.out_size(1) * c.out_size(2)},
               {"first", begin}});
  }
}

void GlOps::backward_cells(const GlOpCall& c, const GlOpGradients& d) {
  const std::int64_t cells = c.cells();
  const GlUniform count("cells", cells);
  const bool sum = c.call.op == Op::kAdd, product = c.call.op == Op::kMultiply;
  for (std::size_t i = 0; (sum || product) && i < 2; ++i) {
    const GlUniform adds("adds", d.adds[i]);
    if (d.d_in[i] == 0) continue;
    if (sum) run_cells(Kernel::kAddBackward, cells, {d.d_out, d.d_in[i]}, {count, adds});
    if (product) {
      run_cells(Kernel::kMultiplyBackward, cells, {c.in[1 - i], d.d_out, d.d_in[i]}, {count, adds});
    }
  }
  if (sum || product || d.d_in[0] == 0) return;
  const GlUniform adds("adds", d.adds[0]);
  const unsigned dx = d.d_in[0];
  switch (c.call.op) {
    case Op::kScale:
      return run_cells(Kernel::kScaleBackward, cells, {d.d_out, dx},
                       {count, adds, {"factor", c.call.params.factor}});
    case Op::kRelu:
      return run_cells(Kernel::kReluBackward, cells, {c.in[0], d.d_out, dx}, {count, adds});
    case Op::kGelu:
      return run_cells(Kernel::kGeluBackward, cells, {c.in[0], d.d_out, dx}, {count, adds});
    case Op::kGeluTanh:
      return run_cells(Kernel::kGeluTanhBackward, cells, {c.in[0], d.d_out, dx}, {count, adds});
    case Op::kSilu:
      return run_cells(Kernel::kSiluBackward, cells, {c.in[0], d.d_out, dx}, {count, adds});
    case Op::kTanh:
      return run_cells(Kernel::kTanhBackward, cells, {c.in[0], d.d_out, dx},
                       {count, adds, {"limit", c.call.params.factor}});
    case Op::kDropout:
      return run_cells(Kernel::kMultiplyBackward, cells, {c.in[1], d.d_out, dx}, {count, adds});
    default:
      return run_cells(
          Kernel::kMaskBackward, cells, {c.in[1], d.d_out, dx},
          {count, adds, {"heads", c.out_size(1)}, {"places", c.out_size(2) * c.out_size(3)}});
  }
}

void GlOps::backward_moves(const GlOpCall& c, const GlOpGradients& d) {
  const std::size_t input = c.call.op == Op::kLearnedPosition ? 1 : 0;
  if (d.d_in[input] == 0) return;
  const std::int64_t cells = cell_count(c.axes[input]);
  const GlUniform count("cells", cells), adds("adds", d.adds[input]);
  const unsigned dx = d.d_in[input];
  switch (c.call.op) {
    case Op::kLearnedPosition:
      return run_cells(Kernel::kLearnedPositionBackward, cells, {d.d_out, dx},
                       {count,
                        adds,
                        {"batch", c.out_size(0)},
                        {"row", c.out_size(1) * c.out_size(2)},
                        {"first", c.call.params.offset * c.out_size(2)}});
    case Op::kSplitHeads:
      return run_cells(Kernel::kSplitHeadsBackward, cells, {d.d_out, dx},
                       {count,
                        adds,
                        {"heads", c.out_size(1)},
                        {"positions", c.out_size(2)},
                        {"width", c.out_size(3)}});
    default:
      return run_cells(Kernel::kConcatHeadsBackward, cells, {d.d_out, dx},
                       {count,
                        adds,
                        {"heads", c.size(0, 1)},
                        {"positions", c.size(0, 2)},
                        {"width", c.size(0, 3)}});
  }
}

void GlOps::backward_pooling(const GlOpCall& c, const GlOpGradients& d) {
  if (d.d_in[0] == 0) return;
  const std::int64_t cells = cell_count(c.axes[0]);
  const GlUniform count("cells", cells), adds("adds", d.adds[0]);
  const unsigned dx = d.d_in[0];
  switch (c.call.op) {
    case Op::kMeanPool:
      return run_cells(Kernel::kMeanPoolBackward, cells, {c.in[1], d.d_out, dx},
                       {count, adds, {"positions", c.size(0, 1)}, {"width", c.size(0, 2)}});
    case Op::kConcatTokens:
      return run_cells(Kernel::kConcatTokensBackward, cells, {c.in[1], d.d_out, dx},
                       {count, adds, {"width", c.size(0, 2)}});
    default:
      return run_cells(Kernel::kFociPenaltyBackward, cells, {c.in[0], d.d_out, dx},
                       {count,
                        adds,
                        {"places", cells / c.cells()},
                        {"foci", c.size(0, 3)},
                        {"factor", c.call.params.factor}});
  }
}

void GlOps::backward_foci(const GlOpCall& c, const GlOpGradients& d) {
  const std::int64_t batch = c.size(0, 0), positions = c.size(0, 1), hidden = c.size(0, 2);
  const std::int64_t foci = c.size(1, 1);
  const GlUniform places("positions", positions), wide("hidden", hidden), count("foci", foci);
  if (d.d_in[0] != 0) {
    run_product(Kernel::kFocusScoresBackwardU, batch, positions, hidden,
                {c.in[1], d.d_out, d.d_in[0]}, {places, wide, count, {"adds", d.adds[0]}});
  }
  if (d.d_in[1] != 0) {
    run_product(Kernel::kFocusScoresBackwardW, 1, hidden, foci, {c.in[0], d.d_out, d.d_in[1]},
                {{"rows", batch * positions}, places, wide, count, {"adds", d.adds[1]}});
  }
}

// Several tokens may pick one row of the table, so they are linked first, and the first of them
// adds up for all. Rows that nobody picks keep what they have: zeros, where the gradient is new.
void GlOps::backward_embed(const GlOpCall& c, const GlOpGradients& d) {
  if (d.d_in[1] == 0) return;
  const std::int64_t tokens = cell_count(c.axes[0]), width = c.size(1, 1), vocab = c.size(1, 0);
  if (!d.adds[1]) run_cells(Kernel::kZero, vocab * width, {d.d_in[1]}, {{"cells", vocab * width}});
  const unsigned links = launcher_.scratch(2 * tokens);
  run_cells(Kernel::kEmbedLinks, tokens, {c.in[0], links}, {{"tokens", tokens}});
  run_cells(Kernel::kEmbedBackward, tokens * width, {c.in[0], links, d.d_out, d.d_in[1]},
            {{"tokens", tokens}, {"width", width}, {"vocab", vocab}});
}

void GlOps::backward_rows(const GlOpCall& c, const GlOpGradients& d) {
  if (d.d_in[0] == 0) return;
  const auto [rows, columns] = as_rows(c.axes[0]);
  const GlUniform row_count("rows", rows), column_count("columns", columns);
  const GlUniform adds("adds", d.adds[0]);
  if (c.call.op == Op::kSoftmax) {
    return run_rows(Kernel::kSoftmaxBackward, rows, columns, {c.out, d.d_out, d.d_in[0]},
                    {row_count,
                     column_count,
                     adds,
                     {"temperature", static_cast<float>(c.call.params.temperature)}});
  }
  run_rows(Kernel::kCrossEntropyBackward, rows, columns, {c.in[0], c.in[1], d.d_out, d.d_in[0]},
           {row_count, column_count, adds});
}

void GlOps::backward_norm(const GlOpCall& c, const GlOpGradients& d) {
  const auto [rows, columns] = as_rows(c.axes[0]);
  const GlUniform row_count("rows", rows), column_count("columns", columns);
  const GlUniform has_mean("has_mean", c.call.op == Op::kLayerNorm);
  const GlUniform epsilon("epsilon", c.call.params.epsilon);
  if (d.d_in[0] != 0) {
    run_rows(Kernel::kNormBackward, rows, columns, {c.in[0], c.in[1], d.d_out, d.d_in[0]},
             {row_count, column_count, has_mean, epsilon, {"adds", d.adds[0]}});
  }
  if (d.d_in[1] != 0) {
    const unsigned statistics = launcher_.scratch(3 * rows);
    run_rows(Kernel::kNormStatistics, rows, columns, {c.in[0], statistics},
             {row_count, column_count, has_mean, epsilon});
    run_columns(Kernel::kNormBackwardW, columns, {c.in[0], statistics, d.d_out, d.d_in[1]},
                {row_count, column_count, {"adds", d.adds[1]}});
  }
  backward_bias(c, d);
}

void GlOps::backward_bias(const GlOpCall& c, const GlOpGradients& d) {
  if (!c.has_bias() || d.d_in[2] == 0) return;
  const auto [rows, columns] = as_rows(c.out_axes);
  run_columns(Kernel::kBiasBackward, columns, {d.d_out, d.d_in[2]},
              {{"rows", rows}, {"columns", columns}, {"adds", d.adds[2]}});
}

void GlOps::backward_linear(const GlOpCall& c, const GlOpGradients& d) {
  const auto [rows, inner] = as_rows(c.axes[0]);
  const std::int64_t columns = c.out_axes.back().size;
  const GlUniform row_count("rows", rows), column_count("columns", columns);
  const GlUniform inner_count("inner", inner);
  if (d.d_in[0] != 0) {
    run_product(Kernel::kLinearBackwardX, 1, rows, inner, {c.in[1], d.d_out, d.d_in[0]},
                {row_count, column_count, inner_count, {"adds", d.adds[0]}});
  }
  if (d.d_in[1] != 0) {
    run_product(Kernel::kLinearBackwardW, 1, inner, columns, {c.in[0], d.d_out, d.d_in[1]},
                {row_count, column_count, inner_count, {"adds", d.adds[1]}});
  }
  backward_bias(c, d);
}

void GlOps::backward_project(const GlOpCall& c, const GlOpGradients& d) {
  const auto [rows, inner] = as_rows(c.axes[0]);
  const std::int64_t heads = c.size(1, 0), width = c.size(1, 2);
  const GlUniform row_count("rows", rows), inner_count("inner", inner);
  const GlUniform head_count("heads", heads), head_width("width", width);
  if (d.d_in[0] != 0) {
    run_product(Kernel::kProjectBackwardX, 1, rows, inner, {c.in[1], d.d_out, d.d_in[0]},
                {row_count, inner_count, head_count, head_width, {"adds", d.adds[0]}});
  }
  if (d.d_in[1] != 0) {
    run_product(Kernel::kProjectBackwardW, 1, inner, heads * width, {c.in[0], d.d_out, d.d_in[1]},
                {row_count, inner_count, head_count, head_width, {"adds", d.adds[1]}});
  }
  backward_bias(c, d);
}

// Of scores, and of rows and a table: the queries' gradient is made of the keys, and the other way
// round. Of the weighted sum: the weights' is made of the values, the values' of the weights.
void GlOps::backward_attention(const GlOpCall& c, const GlOpGradients& d) {
  const bool table = c.call.op == Op::kLinearTransposed;  // its rows are met as keys are
  const bool scores = c.call.op == Op::kScores || table;
  const std::int64_t matrices = table ? 1 : c.kv_matrices();
  const std::int64_t queries = table ? as_rows(c.axes[0]).rows : c.kv_queries();
  const std::int64_t keys = c.size(1, table ? 0 : 2), width = c.size(1, table ? 1 : 3);
  const GlUniform query_count("queries", queries), key_count("keys", keys), wide("width", width);
  if (d.d_in[0] != 0) {
    run_product(scores ? Kernel::kScoresBackwardQ : Kernel::kWeightedSumBackwardA, matrices,
                queries, scores ? width : keys, {c.in[1], d.d_out, d.d_in[0]},
                {query_count, key_count, wide, {"adds", d.adds[0]}});
  }
  if (d.d_in[1] != 0) {
    run_product(scores ? Kernel::kScoresBackwardK : Kernel::kWeightedSumBackwardV, matrices, keys,
                width, {c.in[0], d.d_out, d.d_in[1]},
                {query_count, key_count, wide, {"adds", d.adds[1]}});
  }
  if (table) backward_bias(c, d);
}

void GlOps::backward_additive(const GlOpCall& c, const GlOpGradients& d) {
  const std::int64_t batch = c.out_size(0), heads = c.out_size(1);
  const std::int64_t queries = c.out_size(2), keys = c.out_size(3), width = c.size(0, 3);
  const GlUniform head_count("heads", heads), wide("width", width);
  for (std::size_t i = 0; i < 2; ++i) {
    if (d.d_in[i] == 0) continue;
    const std::int64_t owns = i == 0 ? queries : keys, others = i == 0 ? keys : queries;
    const std::int64_t cells = cell_count(c.axes[i]);
    run_cells(Kernel::kAdditiveScoresBackward, cells,
              {c.in[i], c.in[1 - i], c.in[2], d.d_out, d.d_in[i]},
              {{"cells", cells},
               head_count,
               {"owns", owns},
               {"others", others},
               wide,
               {"own_share", i == 0 ? 1 : c.share()},
               {"other_share", i == 0 ? c.share() : 1},
               {"own_step", i == 0 ? keys : 1},
               {"other_step", i == 0 ? 1 : keys},
               {"adds", d.adds[i]}});
  }
  if (d.d_in[2] == 0) return;
  run_rows(Kernel::kAdditiveScoresBackwardV, heads * width, queries * keys,
           {c.in[0], c.in[1], d.d_out, d.d_in[2]},
           {{"cells", heads * width},
            {"batch", batch},
            head_count,
            {"share", c.share()},
            {"queries", queries},
            {"keys", keys},
            wide,
            {"adds", d.adds[2]}});
}

}  // namespace headlight
