// EarlyStop: ends a run whose validation loss does not get better any more, and keeps the weights
// with which it was best.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/tensor.h"
#include "core/train/learner.h"
#include "core/train/run_settings.h"

namespace headlight {

inline constexpr std::int64_t kMostPatience = 100000;

class EarlyStop {
 public:
  /// `patience` 0: it never ends a run, and keeps nothing.
  explicit EarlyStop(std::int64_t patience) : patience_(patience) {}

  /// A measurement after `step` updates, with the weights of the learner. A loss that is no number
  /// is not better than any.
  void measured(std::int64_t step, const TrainState::Score&, const Learner&);
  /// As many measurements as its patience, one after another, without a better loss.
  bool over() const { return patience_ > 0 && waited_ >= patience_; }
  std::int64_t patience() const { return patience_; }
  /// With 0 it lets go of what it kept.
  void set_patience(std::int64_t);

  /// The best measurement; unset before the first.
  const std::optional<TrainState::Best>& best() const { return best_; }
  /// The weights then, in the order of the program; empty where there was no measurement.
  std::span<const Tensor> weights() const { return weights_; }

  /// What a checkpoint keeps of it, and from there: the best weights are the checkpoint's own.
  void tell(TrainState&) const;
  void restore(const TrainState&, std::span<const Tensor> best);

 private:
  std::int64_t patience_ = 0, waited_ = 0;
  std::optional<TrainState::Best> best_;
  std::vector<Tensor> weights_;
};

/// What evaluate_all() says with the weights that the run keeps: the best, where there are any.
/// Nothing where there are no batches.
Evaluation evaluate_kept(Learner&, const EarlyStop&, std::span<const TokenBatch>);

}  // namespace headlight
