#include "app/train_worker.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>

#include "core/error.h"
#include "core/text/number_text.h"

namespace headlight {
namespace {

constexpr double kLiveEvery = 0.04;   // seconds between two models for the window
constexpr double kSpeedEvery = 0.25;  // seconds that a speed is measured over

double now() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

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

}  // namespace

TrainWorker::~TrainWorker() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    running_ = false;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void TrainWorker::push(Command command) {
  {
    const std::lock_guard lock(mutex_);
    commands_.push_back(std::move(command));
    if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
  }
  changed_.notify_all();
}

void TrainWorker::start(const RunPlan& plan) {
  {
    const std::lock_guard lock(mutex_);
    running_ = false;
    // At once, so that no frame shows the old run under the new plan.
    published_.status = {};
    published_.status.run = next_id_++;
    published_.status.phase = TrainPhase::kPreparing;
    published_.plan = std::make_shared<const RunPlan>(plan);
    published_.version = ++version_;
  }
  push([this, plan] { prepare(plan); });
}

void TrainWorker::play(std::int64_t until) {
  push([this, until] {
    if (!run_ || run_->broken()) return;
    until_ = until;
    const std::lock_guard lock(mutex_);
    running_ = true;
    published_.status.phase = TrainPhase::kRunning;
    published_.status.problem = {};
    window_seconds_ = 0;
    window_steps_ = 0;
    published_.version = ++version_;
  });
}

void TrainWorker::pause() {
  {
    const std::lock_guard lock(mutex_);
    running_ = false;
  }
  push([this] {
    if (!run_ || run_->broken()) return;
    run_->take_snapshot();
    if (!run_->finished()) end(TrainPhase::kPaused);
  });
}

void TrainWorker::step() {
  push([this] {
    if (!run_ || run_->broken()) return;
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

void TrainWorker::save(const std::string& folder) {
  push([this, folder] {
    if (!run_) return;
    run_->save(folder);
    const std::lock_guard lock(mutex_);
    published_.status.saved = folder;
    published_.status.saved_step = run_->steps_done();
    published_.status.problem = {};
    published_.version = ++version_;
  });
}

void TrainWorker::set_history_limit(std::size_t bytes) {
  push([this, bytes] {
    if (run_) run_->history().set_limit(bytes);
    publish(true);
  });
}

// ---- the thread ----

void TrainWorker::loop() {
  yield_to_window();
  std::unique_lock lock(mutex_);
  while (!stop_) {
    changed_.wait(lock, [this] { return stop_ || running_ || !commands_.empty(); });
    if (stop_) return;
    busy_ = true;
    if (!commands_.empty()) {
      const Command command = std::move(commands_.front());
      commands_.pop_front();
      lock.unlock();
      guard(command);
    } else {
      lock.unlock();
      guard([this] { make_step(); });
    }
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

// A command that fails leaves the run as it was and says why.
void TrainWorker::guard(const Command& command) {
  Message problem;
  try {
    command();
    return;
  } catch (const Cancelled&) {
    return;  // another start has taken its place
  } catch (const Error& error) {
    problem = error.message();
  } catch (const std::bad_alloc&) {
    problem = Message{"error.no_memory"};
  }
  const std::lock_guard lock(mutex_);
  published_.status.problem = problem;
  if (!run_) published_.status.phase = TrainPhase::kFailed;
  published_.version = ++version_;
}

void TrainWorker::prepare(const RunPlan& plan) {
  {
    // A play that was asked for before this start has nothing to do with it.
    const std::lock_guard lock(mutex_);
    running_ = false;
  }
  run_.reset();
  seconds_ = speed_ = 0;
  shown_at_ = -1;
  const auto tell_progress = [this](const Progress& progress) {
    const std::lock_guard lock(mutex_);
    published_.status.doing = progress.doing;
    published_.status.share = progress.share;
    published_.version = ++version_;
    return !stop_ && commands_.empty();
  };
  LoadedTask loaded = make_plan_task(plan, tell_progress);
  const std::shared_ptr<const Task> task = std::move(loaded.task);
  auto run = std::make_unique<TrainingRun>(plan, task, threads_);
  run_ = std::move(run);
  const std::lock_guard lock(mutex_);
  const std::uint64_t id = published_.status.run;
  published_ = {};
  published_.status.run = id;
  published_.status.notes = std::move(loaded.notes);
  published_.status.phase = TrainPhase::kPaused;
  published_.status.parameters = run_->parameter_count();
  published_.status.tokens_per_step = run_->tokens_per_step();
  published_.plan = std::make_shared<const RunPlan>(run_->plan());
  published_.task = task;
  const auto examples = run_->probe_examples();
  published_.examples.assign(examples.begin(), examples.end());
  published_.version = ++version_;
  publish_locked(true);
}

void TrainWorker::make_step() {
  const double began = now();
  const TrainStep step = run_->step();
  const double took = now() - began;
  seconds_ += took;
  window_seconds_ += took;
  ++window_steps_;
  if (window_seconds_ > kSpeedEvery || speed_ == 0) {
    speed_ = static_cast<double>(window_steps_ * run_->tokens_per_step()) / window_seconds_;
    window_seconds_ = 0;
    window_steps_ = 0;
  }
  if (run_->broken()) {
    return end(TrainPhase::kBroken, Message{"train.broken",
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
  publish(false);
}

void TrainWorker::end(TrainPhase phase, const Message& problem) {
  const std::lock_guard lock(mutex_);
  running_ = false;
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
  if (!run_) return;
  const RunHistory& history = run_->history();
  TrainStatus& status = published_.status;
  status.step = run_->steps_done();
  status.seconds = seconds_;
  status.tokens_per_second = speed_;
  append_new(published_.curve, history.curve());
  append_new(published_.validation, history.validation());
  const auto snapshots = history.snapshots();
  if (!same_snapshots(published_.snapshots, snapshots)) {
    published_.snapshots.assign(snapshots.begin(), snapshots.end());
    status.history_bytes = history.bytes();
    status.memory_bytes = run_->memory_bytes();
  }
  const double time = now();
  if (live || time - shown_at_ > kLiveEvery) {
    shown_at_ = time;
    published_.live = run_->model();
    published_.live_step = run_->steps_done();
  }
  published_.version = ++version_;
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
  if (view.examples.empty()) view.examples = published_.examples;
  const std::size_t known = view.curve.size();
  append_new<TrainStep>(view.curve, published_.curve);
  for (std::size_t i = known; i < view.curve.size(); ++i) view.summary.add(view.curve[i]);
  append_new<ValidationPoint>(view.validation, published_.validation);
  if (!same_snapshots(view.snapshots, published_.snapshots)) view.snapshots = published_.snapshots;
  view.live = published_.live;
  view.live_step = published_.live_step;
  return true;
}

void TrainWorker::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !running_ && !busy_ && commands_.empty(); });
}

}  // namespace headlight
