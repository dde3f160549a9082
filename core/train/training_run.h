// TrainingRun: everything of a run in one place: the task, the weights, the updates, what is
// measured on the way and kept of it. A pure function of its plan: the same plan gives the same
// numbers, on any number of threads, and a reset gives them again.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/model/init.h"
#include "core/train/data/length_batches.h"
#include "core/train/data/text_source.h"
#include "core/train/optim/early_stop.h"
#include "core/train/run_checkpoint.h"
#include "core/train/run_history.h"
#include "core/train/run_settings.h"

namespace headlight {

/// When a run ends by itself; 0: not for this reason.
struct StopRule {
  std::int64_t steps = 2500;
  double loss = 0;     // a validation loss of this or less
  double seconds = 0;  // of training
  bool operator==(const StopRule&) const = default;
};

/// What a run is to be.
struct RunPlan {
  RunSettings settings;
  Config config;  // its seed is that of the initial weights
  Init init = Init::kNormal;
  StopRule stop;
  // Where settings.task is empty: the person's own data.
  OwnData data = OwnData::kText;
  TextInput text;
  TextOptions text_options;
  std::filesystem::path from;  // a checkpoint that the run goes on from; empty: it begins anew
};

inline constexpr std::int64_t kValidateEvery = 10;   // steps
inline constexpr std::int64_t kValidationRows = 64;  // examples
inline constexpr std::size_t kTableRows = 256;       // the same of a table with labels: a row once
inline constexpr std::int64_t kOldTextRows = 16;
inline constexpr int kProbeExamples = 8;
inline constexpr std::size_t kHistoryBytes = 64u << 20;  // of one run

/// A plan by which a small model learns this task (of all_tasks(); empty: a person's own data) in
/// about half a minute.
RunPlan default_plan(std::string_view task, OwnData = OwnData::kText);

/// The same plan for other data of the person's own: the form of the model and how a text is cut go
/// with them.
RunPlan with_data(RunPlan, OwnData);

/// The same plan for pairs, learned by an encoder-decoder or by a decoder alone (joined).
RunPlan with_joined_pairs(RunPlan, bool joined);
/// What a model learns of running text: TextOptions::masked and TextOptions::next_sentence.
/// Neither: the next token.
struct Objective {
  int masked = 0;  // percent
  bool next_sentence = false;
};
/// The same plan to learn this of running text. Next sentences are learned by a classifier of [CLS]
/// with segments, as BERT; with hidden tokens beside them it has a head of tokens too.
RunPlan with_objective(RunPlan, const Objective&);
inline RunPlan with_masked(RunPlan plan, int masked) {
  return with_objective(std::move(plan), {masked, false});
}
inline RunPlan with_next_sentence(RunPlan plan, bool on) {
  return with_objective(std::move(plan), {0, on});
}

/// Would both start the same run? What can be changed on the way (rate, clipping, the end) does not
/// count.
bool same_start(const RunPlan&, const RunPlan&);

/// Would both learn from the same data of the person's own, cut alike?
bool same_data(const RunPlan&, const RunPlan&);

/// The task of a plan. Reading a text can take seconds: not on the thread of a window. Throws as
/// make_task and load_own_task do.
/// The plan by which the run of this folder goes on: its settings and model, and its task; data of
/// the person's own are of this kind, and cut by its vocabulary, but where they are is not known.
/// Throws Error for what is no checkpoint, or has nothing to go on with.
RunPlan resume_plan(const std::filesystem::path& folder);

LoadedTask make_plan_task(const RunPlan&, const ProgressFunction& = {});

/// What a run begins with that is not drawn anew: a checkpoint's, or a model's weights.
struct RunStart {
  std::vector<Tensor> weights;
  std::vector<StoredArray> optimizer;
  TrainState state;
  TokenBatch old_text;  // written_rows() of the model that the run began with; may have no rows
};
/// Of the plan's checkpoint, else of its base; unset where it begins with new weights. Throws as
/// load_checkpoint(), parse_train() and weights_from(). A base that a checkpoint names and that is
/// gone only leaves no old text to measure.
std::optional<RunStart> plan_start(const RunPlan&, const Task&);

class TrainingRun {
 public:
  /// `learner` makes who computes, on this thread; empty: a Trainer, on the processor. What that
  /// needs of its thread, this needs as well, from first to last. `start`: it goes on from there.
  /// Throws UsageError and Error for a plan that cannot be run.
  TrainingRun(RunPlan, std::shared_ptr<const Task>, int threads,
              std::size_t history_bytes = kHistoryBytes, const LearnerFactory& learner = {},
              std::optional<RunStart> start = {});

  /// One update. Where its loss or norm is not finite nothing was changed, and broken() says so.
  TrainStep step();
  bool broken() const { return broken_; }
  /// Is the plan's end reached, but for the clock? The run can still be stepped on.
  bool finished() const;
  /// Keeps the weights as they are now, whatever the step: at a pause, at the end.
  void take_snapshot();

  /// Did it end because its validation loss got no better? Then its model is the best one.
  bool stopped_early() const { return early_.over(); }
  const EarlyStop& early_stop() const { return early_; }
  /// The step whose weights model() gives: the newest, or the best one of a run that stopped early.
  std::int64_t model_step() const;
  /// How much of the batches so far was padding.
  const PaddingCount& padding() const { return padding_; }

  /// From the next update on. Throws UsageError for a rate or a norm out of range.
  void set_rate(double peak);
  void set_clip(double norm);
  void set_patience(std::int64_t measurements);

  /// From the next update on the processor computes, with the weights, moments and batches that the
  /// learner before it would have gone on with. Throws Error, and changes nothing, where that one
  /// cannot give them any more.
  void move_to_processor(int threads);

  std::int64_t steps_done() const { return state_.step; }
  const RunPlan& plan() const { return plan_; }
  const Task& task() const { return *task_; }
  std::shared_ptr<const Task> shared_task() const { return task_; }
  const RunHistory& history() const { return history_; }
  RunHistory& history() { return history_; }
  std::span<const TaskExample> probe_examples() const { return probe_.examples(); }
  std::int64_t parameter_count() const { return learner_->parameter_count(); }
  std::size_t memory_bytes() const { return learner_->memory_bytes() + history_.bytes(); }
  /// Who computes: its device, and what that could not take.
  const Learner& learner() const { return *learner_; }
  /// Tokens of one update; with batches by length on average so far.
  std::int64_t tokens_per_step() const;
  /// The weights of model_step().
  std::shared_ptr<const Model> model() const;
  /// All of it as it is now, from which `headlight train --resume` goes on.
  RunCheckpoint checkpoint() const;
  /// The same in a folder. Throws Error.
  void save(const std::filesystem::path& folder) const { checkpoint().save(folder); }

 private:
  std::shared_ptr<const Model> model_of(std::span<const Tensor> weights) const;
  ValidationPoint measured(std::span<const TokenBatch>);
  void measure(bool weighed = true);

  RunPlan plan_;
  std::shared_ptr<const Task> task_;
  std::unique_ptr<BatchSource> batches_;
  std::vector<TokenBatch> accumulated_;
  std::unique_ptr<Learner> learner_;
  ModelProbe probe_;
  EarlyStop early_;
  PaddingCount padding_;
  std::vector<TokenBatch> validation_;  // of a model with memory several segments
  TokenBatch old_text_;
  RunHistory history_;
  TrainState state_;
  bool broken_ = false;
};

}  // namespace headlight
