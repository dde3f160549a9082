// RunHistory: what a training run leaves behind: its curves, and its weights at many steps, dense
// early and thinner later, within a bounded memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/model/model.h"
#include "core/train/learner.h"
#include "core/train/metrics/model_probe.h"

namespace headlight {

/// A measurement on validation examples, with the weights after `step` updates.
struct ValidationPoint {
  std::int64_t step = 0;
  double loss = 0;      // mean over the counted targets
  double accuracy = 0;  // share of them that have the largest logit
  // Of up to kMostConfusion classes: how often rows of one were taken for another (class, chosen).
  std::vector<std::int64_t> confusion = {};
  // Config::token_head: the part of the loss that is of hidden tokens, and the share of them that
  // is right; above stand the classes'.
  double hidden_loss = 0, hidden_accuracy = 0;
};
inline constexpr std::size_t kMostConfusion = 20;

/// The same of what was measured: which class the rows of the batches are of, and which was chosen.
std::vector<std::int64_t> confusion_of(std::span<const TokenBatch>, std::span<const int> chosen,
                                       std::size_t classes);

/// A model after `step` updates, and what the probe said of it.
struct Snapshot {
  std::int64_t step = 0;
  std::shared_ptr<const Model> model;
  ProbeResult probe;
  std::size_t bytes() const;
};

/// The steps at which snapshots are taken: every one at first, then so that at least `detail` of
/// them are evenly spread between any step and its double. A smaller detail keeps a subset.
bool is_snapshot_step(std::int64_t step, std::int64_t detail);

class RunHistory {
 public:
  /// Keeps at most `limit` bytes of snapshots, but always the first and the last one.
  explicit RunHistory(std::size_t limit) : limit_(limit) {}

  void add(const TrainStep& step) { curve_.push_back(step); }
  void add(const ValidationPoint& point) { validation_.push_back(point); }
  void add_old(const ValidationPoint& point) { old_text_.push_back(point); }
  /// Should the weights after `step` updates be kept?
  bool wants(std::int64_t step) const { return is_snapshot_step(step, detail_); }
  /// Takes the place of one of the same step. Steps must not go back.
  void add(std::shared_ptr<const Snapshot>);
  /// Gives memory back by keeping fewer snapshots.
  void set_limit(std::size_t limit);

  /// Loss, norm and rate of each update, in order; of update i with the weights after i updates.
  std::span<const TrainStep> curve() const { return curve_; }
  std::span<const ValidationPoint> validation() const { return validation_; }
  /// On what the model that the run began with writes by itself; empty for new weights.
  std::span<const ValidationPoint> old_text() const { return old_text_; }
  std::span<const std::shared_ptr<const Snapshot>> snapshots() const { return snapshots_; }
  /// The snapshot that is nearest to a step; null when there is none.
  std::shared_ptr<const Snapshot> nearest(std::int64_t step) const;
  std::size_t bytes() const;

 private:
  void thin_out();

  std::size_t limit_;
  std::int64_t detail_ = 16;
  std::vector<TrainStep> curve_;
  std::vector<ValidationPoint> validation_, old_text_;
  std::vector<std::shared_ptr<const Snapshot>> snapshots_;
};

/// The snapshot of a list in ascending order that is nearest to a step; null for an empty list.
std::shared_ptr<const Snapshot> nearest_snapshot(std::span<const std::shared_ptr<const Snapshot>>,
                                                 std::int64_t step);

}  // namespace headlight
