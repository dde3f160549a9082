// What real models have between the last layer and the scores, as operations: a transform of each
// row (BERT's head of hidden tokens), a layer behind the pooling (its pooler).
#pragma once

#include "core/graph/builder/embedding_pieces.h"
#include "core/graph/builder/head_rows.h"

namespace headlight {

class HeadPieces : protected EmbeddingPieces {
 protected:
  HeadPieces(const Config& config, const RunShape& shape, bool dropout)
      : EmbeddingPieces(config, shape, dropout), head_rows_(config) {}

  // x (batch, position, d_model) -> the same: norm(f(x W + b)), f that of the feed-forward network.
  TensorId transformed(TensorId x) {
    if (!c.head_transform) return x;
    const TensorId w = parameter("unembed.W_H", {d_model(), d_model()}, Role::kHeadWeight);
    const TensorId pre = linear(head_rows_.head_in(), x, w, {"unembed.b_H", Role::kHeadBias},
                                {"unembed.pre", Role::kHeadInput});
    const TensorId made = call(head_rows_.head_activation(), activation(c.activation), {pre},
                               {"unembed.act", Role::kHeadActivated});
    return c.has_norms() ? norm(made, "ln_head") : made;
  }

  // pooled (batch, n) -> (batch, d_model): f(pooled W + b).
  TensorId after_pooling(TensorId pooled) {
    if (c.pooler == Pooler::kNone) return pooled;
    const Axis row = axes_of(pooled).back();
    const TensorId w = parameter("classify.W_P", {row.name == "place" ? row : d_model(), d_model()},
                                 Role::kPoolerWeight);
    const TensorId pre =
        linear(head_rows_.pooler_in(), pooled, w, {"classify.b_P", Role::kPoolerBias},
               {"classify.pre", Role::kPoolerInput});
    return call(head_rows_.pooler(), c.pooler == Pooler::kTanh ? Op::kTanh : Op::kRelu, {pre},
                {"classify.hidden", Role::kPoolerActivated});
  }

 private:
  const HeadRows head_rows_;
};

}  // namespace headlight
