#include "core/train/optim/early_stop.h"

#include <algorithm>

namespace headlight {

void EarlyStop::measured(std::int64_t step, const TrainState::Score& score,
                         const Learner& learner) {
  if (patience_ == 0) return;
  if (best_ && !(score.loss < best_->score.loss)) {
    ++waited_;
    return;
  }
  waited_ = 0;
  best_ = {step, score};
  const std::span<const Tensor> now = learner.parameters();
  weights_.assign(now.begin(), now.end());
}

void EarlyStop::set_patience(std::int64_t patience) {
  if (patience == 0) *this = EarlyStop(0);
  patience_ = patience;
}

void EarlyStop::tell(TrainState& state) const {
  if (!best_) return;
  state.best = best_;
  state.waited = waited_;
  state.score = best_->score;
}

void EarlyStop::restore(const TrainState& state, std::span<const Tensor> best) {
  if (patience_ == 0 || !state.best) return;
  best_ = state.best;
  waited_ = state.waited;
  weights_.assign(best.begin(), best.end());
}

Evaluation evaluate_kept(Learner& learner, const EarlyStop& early,
                         std::span<const TokenBatch> batches) {
  if (batches.empty()) return {};
  const std::span<Tensor> weights = learner.parameters();
  const std::vector<Tensor> newest(weights.begin(), weights.end());
  if (!early.weights().empty()) std::ranges::copy(early.weights(), weights.begin());
  const Evaluation found = evaluate_all(learner, batches);
  std::ranges::copy(newest, learner.parameters().begin());
  return found;
}

}  // namespace headlight
