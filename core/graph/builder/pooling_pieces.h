// Pooling as operations: from the rows of all tokens to the one row by which a sentence is judged.
#pragma once

#include <utility>

#include "core/graph/builder/mixer_pieces.h"
#include "core/graph/builder/pooling_rows.h"

namespace headlight {

class PoolingPieces : protected MixerPieces {
 protected:
  PoolingPieces(const Config& config, const RunShape& shape, bool dropout)
      : MixerPieces(config, shape, dropout), pool_rows_(config) {}

  // x (batch, position, d_model) -> (batch, …): the last axis is what the classes are scored by.
  TensorId pooled(TensorId x) {
    const Named out{"pooled", Role::kPooled};
    switch (c.pool) {
      case PoolKind::kMean:
        return call(pool_rows_.mean_pool(), Op::kMeanPool, {x, present()}, out);
      case PoolKind::kLast:
      case PoolKind::kFirst:
        p.picked = input("picked", {batch(), position()}, Role::kPicked);
        return call(pool_rows_.picked_token(), Op::kMeanPool, {x, p.picked}, out);
      case PoolKind::kConcat:
        return call(pool_rows_.concat_tokens(), Op::kConcatTokens, {x, present()}, out);
      case PoolKind::kVector:
      case PoolKind::kFoci:
        break;
    }
    return weighted(x);
  }

  bool costs_foci() const {
    return weights_ >= 0 && c.pool == PoolKind::kFoci && c.foci_penalty > 0;
  }

  // The loss of the task, with what it costs that foci choose the same tokens.
  TensorId task_loss(const Named& all) {
    if (!costs_foci()) return call(rows_.loss(), Op::kCrossEntropy, {p.logits, p.targets}, all);
    const TensorId overlap = call(pool_rows_.focus_overlap(), Op::kScores, {weights_, weights_},
                                  {"pool.overlap", Role::kFocusOverlap});
    OpParams params;
    params.factor = static_cast<float>(c.foci_penalty);
    const TensorId penalty = call(pool_rows_.foci_penalty(), Op::kFociPenalty, {overlap},
                                  {"pool.penalty", Role::kFociPenalty}, params);
    StepRow row = rows_.loss();
    row.backward.sentence = "back.class_loss.part";  // the sum is where the way back begins
    const TensorId own = call(std::move(row), Op::kCrossEntropy, {p.logits, p.targets},
                              {"class_loss", Role::kClassLoss});
    return call(pool_rows_.loss_sum(), Op::kAdd, {own, penalty}, all);
  }

 private:
  // Each focus weighs the tokens and gathers their rows by these weights; the foci's rows lie side
  // by side.
  TensorId weighted(TensorId x) {
    const bool one = c.pool == PoolKind::kVector;
    TensorId u = x;
    if (!one) {
      const Axis directions{"direction", c.pool_width()};
      const TensorId w1 = parameter("pool.W_1", {d_model(), directions}, Role::kPoolWeight);
      u = call(pool_rows_.pool_hidden(), Op::kLinear, {x, w1}, {"pool.hidden", Role::kPoolHidden});
      u = call(pool_rows_.pool_tanh(), Op::kTanh, {u}, {"pool.activated", Role::kPoolActivated});
    }
    const TensorId w2 = parameter(one ? "pool.w" : "pool.W_2",
                                  {one ? d_model() : axes_of(u).back(), {"focus", c.focus_count()}},
                                  Role::kFocusWeight);
    if (one) called("w", w2);
    TensorId s = call(pool_rows_.focus_scores(), Op::kFocusScores, {u, w2},
                      {"pool.scores", Role::kFocusScores});
    if (p.shape.padded || c.mask.kind == MaskKind::kPadding) {
      p.pool_mask = input("pool_mask", {batch(), axes_of(s)[2], axes_of(s)[3]}, Role::kPoolMask);
      s = call(rows_.mask(false), Op::kMask, {s, p.pool_mask},
               {"pool.scores_masked", Role::kMaskedFocusScores});
    }
    weights_ =
        call(pool_rows_.focus_weights(), Op::kSoftmax, {s}, {"pool.weights", Role::kFocusWeights});
    const TensorId rows =
        alias({"pool.rows", p.tensors[x].role}, x, {batch(), {"head", 1}, position(), d_model()});
    called(p.tensors[x].symbol, rows);
    const TensorId sums = call(pool_rows_.focus_sums(), Op::kWeightedSum, {weights_, rows},
                               {"pool.sums", Role::kFocusSums});
    const TensorId row =
        alias({"pooled", Role::kPooled}, sums, {batch(), {"place", c.focus_count() * c.d_model}});
    return called("m", row);
  }

  const PoolingRows pool_rows_;
  TensorId weights_ = -1;
};

}  // namespace headlight
