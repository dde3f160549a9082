// What the model of a running text writes by itself at steps of its run, so that one sees it learn.
#include <algorithm>

#include "app/shell/controllers/training_controller.h"

namespace headlight {
namespace {

// 0, 1, 2, 4, 8, …: most happens early.
constexpr std::int64_t kStepsBetweenDoubles = 1;

bool is_kept(std::int64_t step) { return is_snapshot_step(step, kStepsBetweenDoubles); }

auto first_from(std::vector<FreeSample>& growth, std::int64_t step) {
  return std::lower_bound(growth.begin(), growth.end(), step,
                          [](const FreeSample& s, std::int64_t n) { return s.step < n; });
}

// What is to be written next: the earliest step that is missing, then the newest weights.
std::shared_ptr<const Snapshot> next_snapshot(TrainData& data) {
  const auto& snapshots = data.run.snapshots;
  for (const auto& snapshot : snapshots) {
    if (!is_kept(snapshot->step) && snapshot != snapshots.back()) continue;
    const auto at = first_from(data.growth, snapshot->step);
    if (at == data.growth.end() || at->step != snapshot->step) return snapshot;
  }
  return nullptr;
}

// In its place; of the steps between only the newest stays.
void add_sample(std::vector<FreeSample>& growth, FreeSample sample) {
  sample.model.reset();  // the weights of a snapshot would outlive it
  const auto at = first_from(growth, sample.step);
  if (at != growth.end() && at->step == sample.step) {
    *at = std::move(sample);
    return;
  }
  growth.insert(at, std::move(sample));
  const std::int64_t newest = growth.back().step;
  std::erase_if(growth, [&](const auto& s) { return !is_kept(s.step) && s.step != newest; });
}

}  // namespace

bool TrainingController::continues_text() const {
  const RunView& run = data_.run;
  return session_.open && run.task && run.plan->settings.task.empty() &&
         run.task->kind() == TaskKind::kNextToken && !run.examples.empty();
}

std::string TrainingController::text_start() const {
  const std::vector<int>& ids = data_.run.examples[0].tokens;
  return data_.run.task->vocabulary().decode(
      std::span(ids).first(std::max<std::size_t>(ids.size() / 4, 1)));
}

void TrainingController::update_growth() {
  const RunView& run = data_.run;
  if (data_.growth_run != run.status.run) {
    data_.growth.clear();
    data_.growth_run = run.status.run;
  }
  if (!continues_text() || (grower_ && grower_->busy())) return;
  if (!grower_) grower_ = std::make_unique<SampleWorker>(options_.background);
  while (const auto snapshot = next_snapshot(data_)) {
    growing_run_ = run.status.run;
    grower_->request({snapshot->model, snapshot->step, "", text_start(), kGrowthSampling, 1},
                     run.status.phase != TrainPhase::kRunning);
    if (options_.background || !take_growth()) return;
  }
}

bool TrainingController::take_growth() {
  std::optional<FreeSample> written = grower_ ? grower_->poll() : std::nullopt;
  if (!written || growing_run_ != data_.growth_run) return false;
  add_sample(data_.growth, std::move(*written));
  return true;
}

}  // namespace headlight
