#include "app/workers/train_worker.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "app/workers/gpu.h"
#include "app/workers/stopwatch.h"
#include "core/base/error.h"
#include "core/base/number_text.h"

namespace headlight {
namespace {

constexpr double kLiveEvery = 0.04;   // seconds between two models for the window
constexpr double kSpeedEvery = 0.25;  // seconds that a speed is measured over
constexpr std::uint64_t kSteps = std::numeric_limits<std::uint64_t>::max();  // after all commands

// The window comes first: this thread, and those that it makes, take what is left.
void yield_to_window() {
#ifdef __linux__
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 10);
#endif
}

template <class T>
void append_new(std::vector<T>& to, std::span<const T> from) {
  if (to.size() < from.size())
    to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(to.size()), from.end());
}

// A list changes at its end, or gets shorter.
bool same_snapshots(std::span<const std::shared_ptr<const Snapshot>> a,
                    std::span<const std::shared_ptr<const Snapshot>> b) {
  return a.size() == b.size() && (a.empty() || a.back() == b.back());
}

// That a run ended early, and whose weights are there.
Message early_message(const TrainingRun& run) {
  const TrainState::Best& best = *run.early_stop().best();
  return Message{"train.stopped_early",
                 {{"step", count_text(run.steps_done())},
                  {"n", count_text(run.early_stop().patience())},
                  {"best", count_text(best.step)},
                  {"loss", number_text(best.score.loss, 4)}}};
}

}  // namespace

TrainWorker::TrainWorker(int threads, RunAutosave* autosave)
    : threads_(threads),
      autosave_(autosave),
      mailbox_([this](Box::Job& job) { carry_out(job); },
               {.begin = yield_to_window, .end = [this] {
                  run_.reset();  // before what it computes with, whose context is current here
                  if (gpu_ && gpu_->started()) gpu_->stop();
                }}) {}

TrainWorker::~TrainWorker() = default;

void TrainWorker::push(Command command) {
  const std::uint64_t key = next_command_++;
  if (mailbox_.post(key, std::move(command)) != 0) return;
  const auto refused = mailbox_.take(key);
  // There has been no thread yet, and so no run but the one that is to be prepared, if any.
  const std::uint64_t wanted = wanted_run();
  if (refused && wanted != 0) take_back(wanted, refused->problem);
}

void TrainWorker::use_gpu(std::unique_ptr<Gpu> gpu) { gpu_ = std::move(gpu); }

void TrainWorker::stop_gpu() {
  if (!gpu_) return;
  pause();
  push([this] {
    if (run_ && !run_->learner().device().empty()) leave_gpu({});
    if (gpu_->started()) gpu_->stop();
  });
  wait();
  gpu_.reset();
}

void TrainWorker::start(const RunPlan& plan, bool on_gpu) {
  const std::uint64_t id = next_id_++;
  {
    const std::lock_guard lock(mutex_);
    // At once, so that no frame shows the old run under the new plan.
    SaveReport save = published_.status.save;
    if (published_.status.phase != TrainPhase::kPreparing) before_ = std::move(published_);
    published_ = {};
    wanted_ = id;
    published_.status.phase = TrainPhase::kPreparing;
    published_.status.save = std::move(save);
    published_.plan = std::make_shared<const RunPlan>(plan);
    published_.version = ++version_;
  }
  push([this, plan, id, on_gpu] { prepare(plan, id, on_gpu); });
}

void TrainWorker::cancel() {
  const std::lock_guard lock(mutex_);
  if (published_.status.phase != TrainPhase::kPreparing) return;
  wanted_ = 0;
  SaveReport save = std::move(published_.status.save);
  published_ = std::exchange(before_, {});
  published_.status.save = std::move(save);
  TrainStatus& status = published_.status;
  (status.run == 0 ? status.problem : status.start_problem) = Cancelled().message();
  published_.version = ++version_;
}

// What is asked for while a run is prepared is meant for that one (0: none is), not for the one
// that comes back where that fails.
std::uint64_t TrainWorker::awaited_run() {
  const std::lock_guard lock(mutex_);
  return published_.status.phase == TrainPhase::kPreparing ? before_.status.run + 1 : 0;
}

void TrainWorker::play(std::int64_t until) {
  push([this, until, awaited = awaited_run()] {
    if (!run_ || run_->broken() || (awaited != 0 && run_id_ != awaited)) return;
    until_ = until;
    running_ = true;
    const std::lock_guard lock(mutex_);
    published_.status.phase = TrainPhase::kRunning;
    published_.status.problem = {};
    window_seconds_ = 0;
    window_steps_ = 0;
    published_.version = ++version_;
  });
}

void TrainWorker::pause() {
  push([this] {
    running_ = false;
    if (!run_ || run_->broken()) return;
    run_->take_snapshot();
    keep_safe();
    if (!run_->finished()) end(TrainPhase::kPaused);
  });
}

void TrainWorker::step() {
  push([this, awaited = awaited_run()] {
    if (!run_ || run_->broken() || (awaited != 0 && run_id_ != awaited)) return;
    make_step();
    if (run_->broken()) return;
    run_->take_snapshot();
    end(run_->finished() ? TrainPhase::kDone : TrainPhase::kPaused);
  });
}

void TrainWorker::set_rate(double rate) {
  push([this, rate] {
    if (run_) run_->set_rate(rate);
    publish_plan();
  });
}

void TrainWorker::set_clip(double norm) {
  push([this, norm] {
    if (run_) run_->set_clip(norm);
    publish_plan();
  });
}

void TrainWorker::set_patience(std::int64_t measurements) {
  push([this, measurements] {
    if (run_) run_->set_patience(measurements);
    publish_plan();
  });
}

void TrainWorker::save(const std::string& folder, std::uint64_t run) {
  push([this, folder, run] {
    SaveReport report{0, run == 0 ? run_id_ : run, -1, folder, {}};
    const auto earlier = earlier_.find(report.run);
    const bool is_earlier = earlier != earlier_.end();
    if (!is_earlier && (!run_ || report.run != run_id_)) return;
    try {
      report.step = is_earlier ? earlier->second->step : run_->steps_done();
      is_earlier ? earlier->second->save(folder) : run_->save(folder);
      if (!is_earlier) safe_step_ = report.step;
    } catch (...) {
      report.problem = caught_problem();
    }
    const std::lock_guard lock(mutex_);
    report.count = published_.status.save.count + 1;
    published_.status.save = std::move(report);
    published_.version = ++version_;
  });
}

void TrainWorker::keep_now() {
  push([this] {
    safe_step_ = -1;
    keep_safe();
  });
}

void TrainWorker::keep_all() {
  push([this] {
    if (!autosave_) return;
    const auto is_safe = [&](std::uint64_t id, std::int64_t step) {
      return step == 0 || autosave_->is_safe(id, step);
    };
    for (const auto& [id, checkpoint] : earlier_) {
      if (!is_safe(id, checkpoint->step)) autosave_->write(id, checkpoint);
    }
    if (!run_ || is_safe(run_id_, run_->steps_done())) return;
    safe_step_ = -1;
    keep_safe();
  });
}

void TrainWorker::forget(std::uint64_t run) {
  push([this, run] { earlier_.erase(run); });
}

void TrainWorker::set_history_limit(std::size_t bytes) {
  push([this, bytes] {
    if (run_) run_->history().set_limit(bytes);
    publish(true);
  });
}

// ---- the thread ----

// A command that fails leaves the run as it was and says why; a step that fails is the last one.
void TrainWorker::carry_out(Box::Job& job) {
  stop_ = job.stop;
  const bool steps = job.key == kSteps;
  try {
    if (!steps) job.request();
    if (steps && running_) make_step();
  } catch (...) {
    if (steps) running_ = false;
    const std::lock_guard lock(mutex_);
    if (steps) published_.status.phase = TrainPhase::kFailed;
    published_.status.problem = caught_problem();
    published_.version = ++version_;
  }
  if (running_ && !steps) mailbox_.post(kSteps, nullptr);
  job.again = running_ && steps;
}

// A copy of the run between two updates; another thread takes it to the disk.
void TrainWorker::keep_safe() {
  safe_at_ = seconds_now();
  if (!autosave_ || !run_ || run_->steps_done() == safe_step_) return;
  safe_step_ = run_->steps_done();
  autosave_->write(run_id_, std::make_shared<const RunCheckpoint>(run_->checkpoint()));
}

void TrainWorker::make_step() {
  const double began = seconds_now();
  TrainStep step;
  try {
    step = run_->step();
  } catch (const WrongResult& wrong) {
    if (leave_gpu(wrong.message())) return stand_still();
    return end(TrainPhase::kFailed, Message{"train.gpu_lost"}.with(wrong.message()));
  } catch (...) {
    if (run_->learner().device().empty()) throw;
    const Message problem = caught_problem();
    if (leave_gpu(problem)) return;
    return end(TrainPhase::kFailed, Message{"train.gpu_lost"}.with(problem));
  }
  const double took = seconds_now() - began;
  seconds_ += took;
  window_seconds_ += took;
  ++window_steps_;
  if (window_seconds_ > kSpeedEvery || speed_ == 0) {
    speed_ = static_cast<double>(window_steps_ * run_->tokens_per_step()) / window_seconds_;
    window_seconds_ = 0;
    window_steps_ = 0;
  }
  if (run_->broken()) {
    return end(TrainPhase::kBroken,
               Message{step.loss_scale > 0 ? "train.broken.float16" : "train.broken",
                       {{"loss", number_text(step.loss)},
                        {"norm", number_text(step.gradient_norm)},
                        {"step", std::to_string(step.step)}}});
  }
  const double limit = run_->plan().stop.seconds;
  if (run_->finished() || (limit > 0 && seconds_ >= limit)) {
    run_->take_snapshot();
    return end(TrainPhase::kDone);
  }
  if (until_ > 0 && run_->steps_done() >= until_) {
    run_->take_snapshot();
    return end(TrainPhase::kPaused);
  }
  if (autosave_ && seconds_now() - safe_at_ >= autosave_->every()) keep_safe();
  publish(false);
}

// Somebody has to say whether to go on with what may be wrong; it does not take the place of what
// was kept safe before.
void TrainWorker::stand_still() {
  running_ = false;
  safe_step_ = run_->steps_done();
  safe_at_ = seconds_now();
  const std::lock_guard lock(mutex_);
  published_.status.phase = TrainPhase::kPaused;
  publish_locked(true);
}

void TrainWorker::end(TrainPhase phase, const Message& problem) {
  running_ = false;
  keep_safe();
  const std::lock_guard lock(mutex_);
  if (published_.status.run != run_id_) return;  // another was asked for meanwhile
  published_.status.phase = phase;
  published_.status.problem = problem;
  publish_locked(true);
}

void TrainWorker::publish_plan() {
  const std::lock_guard lock(mutex_);
  if (run_) published_.plan = std::make_shared<const RunPlan>(run_->plan());
  publish_locked(true);
}

void TrainWorker::publish(bool live) {
  const std::lock_guard lock(mutex_);
  publish_locked(live);
}

// What is new goes to where the window takes it from; the weights of this moment now and then.
void TrainWorker::publish_locked(bool live) {
  published_.version = ++version_;
  if (!run_) return;
  const RunHistory& history = run_->history();
  TrainStatus& status = published_.status;
  status.step = run_->steps_done();
  status.seconds = seconds_;
  status.tokens_per_second = speed_;
  status.tokens_per_step = run_->tokens_per_step();
  status.padding = run_->padding().share();
  status.stopped_early = run_->stopped_early() ? early_message(*run_) : Message{};
  append_new(published_.curve, history.curve());
  append_new(published_.validation, history.validation());
  append_new(published_.old_text, history.old_text());
  const auto snapshots = history.snapshots();
  if (!same_snapshots(published_.snapshots, snapshots)) {
    published_.snapshots.assign(snapshots.begin(), snapshots.end());
    status.history_bytes = history.bytes();
    status.memory_bytes = run_->memory_bytes();
  }
  const double time = seconds_now();
  if (live || time - shown_at_ > kLiveEvery) {
    shown_at_ = time;
    published_.live = run_->model();
    published_.live_step = run_->model_step();
  }
}

// ---- the window's side ----

bool TrainWorker::update(RunView& view) {
  const std::lock_guard lock(mutex_);
  if (view.version == published_.version) return false;
  if (view.status.run != published_.status.run || view.curve.size() > published_.curve.size()) {
    view = {};
  }
  view.status = published_.status;
  view.plan = published_.plan;
  view.version = published_.version;
  if (published_.status.phase == TrainPhase::kPreparing) return true;  // the rest is the old run's
  view.task = published_.task;
  std::copy_n(published_.bytes_per_token, 2, view.bytes_per_token);
  if (view.examples.empty()) view.examples = published_.examples;
  const std::size_t known = view.curve.size();
  append_new<TrainStep>(view.curve, published_.curve);
  for (std::size_t i = known; i < view.curve.size(); ++i) view.summary.add(view.curve[i]);
  append_new<ValidationPoint>(view.validation, published_.validation);
  append_new<ValidationPoint>(view.old_text, published_.old_text);
  if (!same_snapshots(view.snapshots, published_.snapshots)) view.snapshots = published_.snapshots;
  view.live = published_.live;
  view.live_step = published_.live_step;
  return true;
}

}  // namespace headlight
