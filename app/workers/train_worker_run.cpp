// How the worker comes to a run: the data that it reads, and who computes, the graphics card or,
// where that fails, the processor.
#include "app/gl/training/gl_trainer.h"
#include "app/workers/gpu.h"
#include "app/workers/stopwatch.h"
#include "app/workers/train_worker.h"
#include "core/base/error.h"
#include "core/train/tasks/class_token.h"
#include "core/train/trainer.h"

namespace headlight {
namespace {

constexpr double kTellReadEvery = 0.1;  // seconds between two notes of how far reading is

}  // namespace

// The run that another takes the place of can still be saved, unless a graphics card has taken it
// along.
void TrainWorker::put_aside() {
  if (!run_ || run_->steps_done() == 0) return;
  try {
    keep_safe();
    earlier_[run_id_] = std::make_shared<const RunCheckpoint>(run_->checkpoint());
  } catch (const Error&) {
    if (run_->learner().device().empty()) throw;
  }
}

std::uint64_t TrainWorker::wanted_run() {
  const std::lock_guard lock(mutex_);
  return wanted_;
}

void TrainWorker::prepare(const RunPlan& plan, std::uint64_t id, bool on_gpu) {
  const bool was_running = std::exchange(running_, false);
  try {
    return make_run(plan, id, on_gpu);
  } catch (const Cancelled&) {
    // Another start has taken its place, or it is not wanted any more.
  } catch (...) {
    take_back(id, caught_problem());
  }
  running_ = was_running;
}

// What was published before, with what is new of it; without a run why there is none.
void TrainWorker::take_back(std::uint64_t id, const Message& problem) {
  const std::lock_guard lock(mutex_);
  if (wanted_ != id) return;
  if (run_) {
    SaveReport save = std::move(published_.status.save);
    published_ = std::exchange(before_, {});
    published_.status.save = std::move(save);
    published_.status.start_problem = problem;
    return publish_locked(true);
  }
  published_.status.problem = problem;
  published_.status.phase = TrainPhase::kFailed;
  published_.version = ++version_;
}

// The task of the plan; data that were read already are not read again.
void TrainWorker::load_task(const RunPlan& plan, const ProgressFunction& progress) {
  LoadedData now;
  now.plan = plan;
  std::error_code ignored;
  if (!plan.text.path.empty()) {
    now.written = std::filesystem::last_write_time(plan.text.path, ignored);
    now.bytes = std::filesystem::file_size(plan.text.path, ignored);
  }
  const bool known = loaded_.task && !ignored && same_data(plan, loaded_.plan) &&
                     now.written == loaded_.written && now.bytes == loaded_.bytes;
  if (known) return;
  loaded_ = {};  // the memory of the old is needed for the new
  LoadedTask loaded = make_plan_task(plan, progress);
  now.task = std::move(loaded.task);
  now.notes = std::move(loaded.notes);
  loaded_ = std::move(now);
}

void TrainWorker::make_run(const RunPlan& plan, std::uint64_t id, bool on_gpu) {
  double told = -1;
  load_task(plan, [this, id, &told](const Progress& progress) {
    const std::lock_guard lock(mutex_);
    if (stop_.stop_requested() || wanted_ != id) return false;
    // The window would draw itself for every piece, and take the time that reading needs.
    if (published_.status.doing == progress.doing && seconds_now() - told < kTellReadEvery)
      return true;
    told = seconds_now();
    published_.status.doing = progress.doing;
    published_.status.share = progress.share;
    published_.version = ++version_;
    return true;
  });
  const std::shared_ptr<const Task> task = as_read_by(plan.config, loaded_.task);
  Message gpu_problem;
  std::unique_ptr<TrainingRun> made;
  try {
    made = std::make_unique<TrainingRun>(plan, task, threads_, kHistoryBytes, learners(on_gpu),
                                         plan_start(plan, *task));
  } catch (const UsageError&) {
    throw;  // the plan is wrong, whoever computes
  } catch (const Error& error) {
    if (!on_gpu) throw;
    gpu_problem = error.message();
    gpu_->fail(gpu_problem);
    made = std::make_unique<TrainingRun>(plan, task, threads_, kHistoryBytes, LearnerFactory{},
                                         plan_start(plan, *task));
  }
  double kept[2] = {0, 0};
  const Learner& learner = made->learner();
  TrainerOptions options = learner.options();
  for (const bool half : {false, true}) {
    options.storage = half ? NumberFormat::kBfloat16 : NumberFormat::kFloat32;
    kept[half] = kept_activation_bytes(plan.config, learner.shape(), options, plan.settings.batch);
  }
  if (wanted_run() != id) throw Cancelled();
  put_aside();
  run_ = std::move(made);
  ++run_id_;
  safe_step_ = 0;  // its first weights can be drawn again
  safe_at_ = seconds_now();
  seconds_ = speed_ = 0;
  shown_at_ = -1;
  const std::lock_guard lock(mutex_);
  before_ = {};
  SaveReport save = std::move(published_.status.save);
  published_ = {};
  published_.status.run = run_id_;
  published_.status.save = std::move(save);
  published_.status.notes = loaded_.notes;
  published_.status.phase = TrainPhase::kPaused;
  published_.status.device = run_->learner().device();
  published_.status.gpu_problem = gpu_problem;
  published_.status.parameters = run_->parameter_count();
  published_.status.tokens_per_step = run_->tokens_per_step();
  published_.status.kept = kept[0];
  published_.status.kept_in_half = kept[1];
  published_.plan = std::make_shared<const RunPlan>(run_->plan());
  published_.task = task;
  for (const Split split : {Split::kTraining, Split::kValidation})
    published_.bytes_per_token[static_cast<int>(split)] = task->bytes_per_token(split);
  const auto examples = run_->probe_examples();
  published_.examples.assign(examples.begin(), examples.end());
  published_.version = ++version_;
  publish_locked(true);
}

// Of the graphics card, which belongs to this thread.
LearnerFactory TrainWorker::learners(bool on_gpu) {
  if (!on_gpu || !gpu_) return {};
  return [this](const Config& config, const RunShape& shape, std::vector<Tensor> parameters,
                const TrainerOptions& options) {
    // What rows remember from step to step is kept by the processor, and it alone makes again what
    // What rows remember from step to step is kept by the processor, and it alone makes again what
    // it did not keep, keeps it in 16 bits, and leaves layers as they are.
    if (config.memory > 0 || options.checkpointing || options.frozen != kNoneFrozen ||
        options.storage != NumberFormat::kFloat32)
      return std::unique_ptr<Learner>(
          std::make_unique<Trainer>(config, shape, std::move(parameters), options));
    const std::shared_ptr<GlBackend> backend(std::shared_ptr<void>(), &gpu_->backend());
    return gl_learners(backend)(config, shape, std::move(parameters), options);
  };
}

// The same run goes on on the processor; false where the device has taken its weights along.
bool TrainWorker::leave_gpu(const Message& why) {
  bool moved = true;
  try {
    run_->move_to_processor(threads_);
  } catch (...) {
    moved = false;
    run_.reset();
  }
  if (!why.empty()) gpu_->fail(why);
  const std::lock_guard lock(mutex_);
  published_.status.device.clear();
  published_.status.gpu_problem = why;
  published_.version = ++version_;
  return moved;
}

}  // namespace headlight
