// headlight train: who computes, and what is known of the run should that fail.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "app/cli/train/train_source.h"
#include "core/train/learner.h"
#include "core/train/run_checkpoint.h"

namespace headlight {

/// By --backend: "cpu", the processor, or "gl", the graphics card. Throws UsageError for any
/// other name, and Error as NamedBackend.
LearnerFactory learners_for(const TrainOptions&);

/// What --checkpointing says of a run. It makes no difference to a number, so a run that goes on
/// may change it. Throws UsageError for neither on nor off.
void set_checkpointing(const TrainOptions&, RunSettings&);

/// "training on the processor (2 threads)", on stderr.
void tell_device(const Learner&, const TrainOptions&);

/// How many blocks of scores a step computed, on stderr; nothing where the mask forbids none.
void tell_blocks(const Learner&);

/// What a run can be gone on from, whatever happens: it is saved now and then in the folder of
/// --out, in one step each time, and of one on a graphics card a copy is made more often.
class SafeRun {
 public:
  using Checkpoint = std::function<RunCheckpoint()>;
  /// `now` says what the run is now, after `step` steps. Copies it at once where that is needed.
  SafeRun(const Learner&, Checkpoint now, std::int64_t step, const TrainOptions&);
  /// After each step. A save that fails is said once; the run goes on.
  void keep(std::int64_t step);
  /// The run on a graphics card stopped at `step`, for this reason: saves the newest that is known
  /// where the options say, or the last copy where the newest is not to be trusted, and throws an
  /// Error that says so.
  [[noreturn]] void give_up(const std::string& reason, std::int64_t step, bool trusted = true);

 private:
  using Clock = std::chrono::steady_clock;
  bool is_due(std::int64_t step) const;
  void save(std::int64_t step);

  const TrainOptions& options_;
  const bool on_card_;
  Checkpoint now_;
  std::optional<RunCheckpoint> last_;
  Clock::time_point kept_at_, saved_at_;
  double took_ = 0;  // the last save, in seconds
  std::int64_t saved_step_;
  bool said_ = false;
};

/// The data's ids are in the vocabulary of weights that there are, which the data takes over.
/// Throws Error otherwise; `path` is where the weights are.
void check_vocabulary(LearnedFrom& data, std::int64_t known, const std::string& path);

/// What a new run begins with: the base's weights, those of a file, or random ones. Throws Error
/// for a file that does not fit.
std::vector<Tensor> start_parameters(const TrainOptions&, const std::shared_ptr<const Model>& base,
                                     const Config&, LearnedFrom& data);

}  // namespace headlight
