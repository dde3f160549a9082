#include "core/train/run_history.h"

#include <algorithm>
#include <bit>

namespace headlight {

std::size_t Snapshot::bytes() const {
  std::size_t bytes = sizeof *this + probe.heads.size() * sizeof(HeadScores);
  for (const auto& row : probe.predicted) bytes += row.size() * sizeof(int);
  for (const Tensor& tensor : model->weights) bytes += tensor.data.size() * sizeof(float);
  return bytes;
}

std::vector<std::int64_t> confusion_of(std::span<const TokenBatch> batches,
                                       std::span<const int> chosen, std::size_t classes) {
  std::vector<std::int64_t> counts(classes * classes, 0);
  std::size_t row = 0;
  for (const TokenBatch& batch : batches) {
    for (const int label : batch.targets) {
      const int taken = row < chosen.size() ? chosen[row] : -1;
      ++row;
      if (label < 0 || taken < 0) continue;
      ++counts[static_cast<std::size_t>(label) * classes + static_cast<std::size_t>(taken)];
    }
  }
  return counts;
}

bool is_snapshot_step(std::int64_t step, std::int64_t detail) {
  if (step <= detail) return true;
  const auto gap = std::bit_floor(static_cast<std::uint64_t>(step / detail));
  return static_cast<std::uint64_t>(step) % gap == 0;
}

void RunHistory::add(std::shared_ptr<const Snapshot> snapshot) {
  if (!snapshots_.empty()) {
    const std::int64_t last = snapshots_.back()->step;
    // One that was taken out of turn, at a pause, has done its duty.
    if (last == snapshot->step || !is_snapshot_step(last, detail_)) snapshots_.pop_back();
  }
  snapshots_.push_back(std::move(snapshot));
  thin_out();
}

void RunHistory::set_limit(std::size_t limit) {
  limit_ = limit;
  thin_out();
}

void RunHistory::thin_out() {
  while (bytes() > limit_ && snapshots_.size() > 2 && detail_ > 1) {
    detail_ /= 2;
    const auto last = snapshots_.back();
    std::erase_if(snapshots_, [&](const auto& snapshot) {
      return snapshot->step != 0 && snapshot != last && !is_snapshot_step(snapshot->step, detail_);
    });
  }
  while (bytes() > limit_ && snapshots_.size() > 2) snapshots_.erase(snapshots_.begin() + 1);
}

std::size_t RunHistory::bytes() const {
  std::size_t bytes = 0;
  for (const auto& snapshot : snapshots_) bytes += snapshot->bytes();
  return bytes;
}

std::shared_ptr<const Snapshot> RunHistory::nearest(std::int64_t step) const {
  return nearest_snapshot(snapshots_, step);
}

std::shared_ptr<const Snapshot> nearest_snapshot(
    std::span<const std::shared_ptr<const Snapshot>> snapshots, std::int64_t step) {
  std::shared_ptr<const Snapshot> best;
  for (const auto& snapshot : snapshots) {
    if (!best || std::abs(snapshot->step - step) < std::abs(best->step - step)) best = snapshot;
  }
  return best;
}

}  // namespace headlight
