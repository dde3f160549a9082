// headlight train: who computes, and what is known of the run should that fail.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "app/cli/train_source.h"
#include "core/train/learner.h"
#include "core/train/run_checkpoint.h"

namespace headlight {

/// By --backend: "cpu", the processor, or "gl", the graphics card. Throws UsageError for any
/// other name, and Error as NamedBackend.
LearnerFactory learners_for(const TrainOptions&);

/// "training on the processor (2 threads)", on stderr.
void tell_device(const Learner&, const TrainOptions&);

/// What a run on a graphics card can be gone on from, whatever happens to the card: a copy of it,
/// made now and then. Does nothing where the processor trains.
class SafeRun {
 public:
  using Checkpoint = std::function<RunCheckpoint()>;
  /// `now` says what the run is now. Copies it at once.
  SafeRun(const Learner&, Checkpoint now);
  /// After each step.
  void keep();
  /// The run on a graphics card stopped at `step`, for this reason: saves the newest that is known
  /// where the options say, and throws an Error that says so.
  [[noreturn]] void give_up(const std::string& reason, std::int64_t step, const TrainOptions&);

 private:
  using Clock = std::chrono::steady_clock;
  const bool is_needed_;
  Checkpoint now_;
  std::optional<RunCheckpoint> last_;
  Clock::time_point kept_at_;
};

}  // namespace headlight
