// A head of tokens beside that of classes, as operations: what stands at hidden places is said and
// learned together with the class of the row, as BERT was pretrained (Devlin et al. 2019,
// "BERT: Pre-training of deep bidirectional transformers").
#pragma once

#include "core/graph/builder/pooling_pieces.h"
#include "core/graph/builder/token_head_rows.h"

namespace headlight {

class TokenHeadPieces : protected PoolingPieces {
 protected:
  TokenHeadPieces(const Config& config, const RunShape& shape, bool dropout)
      : PoolingPieces(config, shape, dropout), token_rows_(config) {}

  // x (batch, position, d_model) -> (batch, position, vocab), for the tokens that stand there.
  // `table` is W_E.
  void token_head(TensorId x, TensorId table) {
    const Named made{"token_logits", Role::kTokenLogits};
    if (c.tied_head) {
      p.token_logits = tied_logits(token_rows_.logits(), x, table, made);
    } else {
      const TensorId w =
          parameter("unembed.W_U", {d_model(), {"vocab", p.shape.vocab}}, Role::kUnembedding);
      p.token_logits = linear(token_rows_.logits(), x, w, {"unembed.b_U", Role::kUnembeddingBias},
                              made, c.has_head_bias());
    }
    call(token_rows_.probabilities(), Op::kSoftmax, {p.token_logits},
         {"token_probs", Role::kTokenProbabilities});
  }

  // By the table of the embeddings. A bias is there where it is asked for.
  TensorId tied_logits(StepRow row, TensorId x, TensorId table, const Named& made) {
    std::vector<TensorId> in = {x, table};
    if (c.has_tied_bias())
      in.push_back(parameter("unembed.b_U", {{"vocab", p.shape.vocab}}, Role::kUnembeddingBias));
    return call(std::move(row), Op::kLinearTransposed, std::move(in), made);
  }

  // The loss of the class (with that of the foci) and, with a head of tokens, the mean of the
  // losses of hidden tokens: Σ_t c_t · L″_t, where c is 0 for what is not asked for. A row of the
  // batch gets its share of the batch's mean, so that the mean over the rows is the sum of both
  // means.
  TensorId task_loss(const Named& all) {
    if (!c.token_head) return PoolingPieces::task_loss(all);
    const bool penalised = costs_foci();
    const TensorId own = PoolingPieces::task_loss(
        penalised ? Named{"class_cost", Role::kOwnLoss} : Named{"class_loss", Role::kClassLoss});
    StepRow& before = p.steps.back().row;  // the sum is where the way back begins
    if (!penalised) before.backward.sentence = "back.class_loss.part";
    p.token_targets = input("token_targets", {batch(), position()}, Role::kTokenTargets);
    p.token_loss = call(token_rows_.loss(), Op::kCrossEntropy, {p.token_logits, p.token_targets},
                        {"token_loss", Role::kTokenLoss});
    const Axis one{"mean", 1};
    p.chosen =
        input("chosen", {batch(), {"head", 1}, one, {"key", p.shape.positions}}, Role::kChosen);
    const TensorId losses = alias({"token_loss.rows", Role::kTokenLoss}, p.token_loss,
                                  {batch(), {"head", 1}, position(), {"number", 1}});
    const TensorId mean = call(token_rows_.mean(), Op::kWeightedSum, {p.chosen, losses},
                               {"hidden_loss.sum", Role::kHiddenLoss});
    const TensorId hidden = alias({"hidden_loss", Role::kHiddenLoss}, mean, {batch()});
    return call(token_rows_.sum(), Op::kAdd, {own, hidden}, all);
  }

 private:
  const TokenHeadRows token_rows_;
};

}  // namespace headlight
