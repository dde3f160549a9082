#include "app/workers/trace_worker.h"

#include "app/workers/gpu.h"
#include "app/workers/guarded_backend.h"
#include "app/workers/stopwatch.h"
#include "app/workers/timed_backend.h"
#include "core/autodiff/backward.h"
#include "core/base/error.h"
#include "core/run/targets.h"

namespace headlight {

TraceWorker::TraceWorker(RunLimits limits, const std::string& backend, int threads)
    : limits_(limits),
      runner_(limits),
      backend_(make_backend(backend, threads)),
      measurer_(limits, backend, threads) {}

TraceWorker::~TraceWorker() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    wanted_ = {};
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// ---- runs ----

FinishedRun TraceWorker::run(const RunRequest& r) {
  const std::lock_guard lock(run_mutex_);
  FinishedRun run;
  run.document = r.document;
  runner_.set_limits(limits_);
  if (r.mode != ComputeMode::kCpu) {
    run_on_gpu(r, run);
    if (run.gpu_problem.empty()) return run;
  }
  run.milliseconds =
      milliseconds([&] { run.result = runner_.run(r.document, *backend_, r.model, r.gradients); });
  return run;
}

void TraceWorker::run_on_gpu(const RunRequest& r, FinishedRun& run) {
  try {
    GlBackend& gl = gpu_->backend();
    gpu_->use_fresh_storage();
    const bool both = r.mode == ComputeMode::kBoth;
    TimedBackend timed(gl, both ? &gl.queue() : nullptr);
    GuardedBackend guarded(both ? static_cast<Backend&>(timed) : gl);
    if (both) {
      run_both(r, guarded, timed, run);
    } else {
      run.milliseconds = milliseconds(
          [&] { run.result = runner_.run(r.document, guarded, r.model, r.gradients); });
    }
    if (!guarded.failure().empty()) throw Error(guarded.failure());
    measure(run.result);
    if (run.result.trace) run.device_cells = gpu_->device_cells(*run.result.trace);
  } catch (const Error& error) {
    run.gpu_problem = error.message();
    run.result = {};
    run.both.reset();
    gpu_->fail(error.message());
  }
  run.gpu = gpu_->state();
}

// What is shown is the graphics card's; the processor's is what it is measured against.
void TraceWorker::run_both(const RunRequest& r, Backend& guarded, const TimedBackend& timed,
                           FinishedRun& run) {
  auto both = std::make_shared<BothRun>();
  TimedBackend cpu(*backend_);
  runner_.set_limits({limits_.memory_bytes / 2});  // there are two of them
  RunResult expected;
  both->cpu_ms =
      milliseconds([&] { expected = runner_.run(r.document, cpu, r.model, r.gradients); });
  if (expected.trace) {
    const auto once = [&] { run.result = runner_.run(r.document, guarded, r.model, r.gradients); };
    const GlPrograms& programs = gpu_->backend().programs();
    const int made = programs.compiled() + programs.loaded();
    both->gpu_ms = milliseconds(once);
    // Compiling is no part of the time.
    const bool fresh = programs.compiled() + programs.loaded() != made;
    if (fresh && run.result.trace) both->gpu_ms = milliseconds(once);
  } else {
    run.result = std::move(expected);
  }
  runner_.set_limits(limits_);
  if (!run.result.trace) return;
  run.milliseconds = both->gpu_ms;
  both->serial = run.result.trace->serial();
  both->cpu = cpu.times();
  both->gpu = timed.times();
  const ErrorLimits limits = gpu_->state().software ? ErrorLimits{} : ErrorLimits::of_hardware();
  try {
    both->comparison = compare_traces(*run.result.trace, *expected.trace, limits);
  } catch (const Error& error) {
    both->problem = error.message();
  }
  run.both = std::move(both);
}

FinishedRun TraceWorker::run_now(const RunRequest& r) {
  {
    const std::lock_guard lock(mutex_);
    wanted_.run.reset();
    finished_.reset();  // older than what is asked for now
  }
  if (r.mode == ComputeMode::kCpu) return run(r);
  // The graphics card belongs to the thread.
  request(r);
  wait();
  std::optional<FinishedRun> done = poll();
  return done ? std::move(*done) : FinishedRun{};
}

void TraceWorker::wake() {
  if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
  changed_.notify_all();
}

void TraceWorker::request(const RunRequest& r) {
  const std::lock_guard lock(mutex_);
  wanted_.run = r;
  finished_.reset();
  wake();
}

bool TraceWorker::wait_for(double seconds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                           [this] { return finished_.has_value(); });
}

std::optional<FinishedRun> TraceWorker::poll() {
  const std::lock_guard lock(mutex_);
  return std::exchange(finished_, std::nullopt);
}

// ---- the graphics card ----

void TraceWorker::use_gpu(std::unique_ptr<Gpu> gpu) { gpu_ = std::move(gpu); }

void TraceWorker::stop_gpu() {
  if (!gpu_) return;
  std::unique_lock lock(mutex_);
  wanted_.run.reset();
  wanted_.sizes.reset();
  wanted_.test = false;
  if (thread_.joinable()) {  // else it was never started
    wanted_.stop_gpu = true;
    wake();
    changed_.wait(lock, [this] { return !running_ && !wanted_.stop_gpu; });
  }
  gpu_.reset();
}

void TraceWorker::request_gpu_test() {
  const std::lock_guard lock(mutex_);
  wanted_.test = true;
  wake();
}

std::optional<GpuState> TraceWorker::poll_gpu() {
  const std::lock_guard lock(mutex_);
  return std::exchange(gpu_state_, std::nullopt);
}

// False when it is done, with what came of it.
bool TraceWorker::test_some(GpuState& state) {
  bool more = false;
  try {
    more = gpu_->test_some();
  } catch (const Error& error) {
    gpu_->fail(error.message());
  }
  if (!more) state = gpu_->state();
  return more;
}

// ---- time against size ----

void TraceWorker::request_sizes(const RunRequest& r) {
  const std::lock_guard lock(mutex_);
  wanted_.sizes = r;
  sizes_begin_ = true;
  wake();
}

void TraceWorker::stop_sizes() {
  const std::lock_guard lock(mutex_);
  wanted_.sizes.reset();
}

std::optional<SizeChart> TraceWorker::poll_sizes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(sizes_, std::nullopt);
}

// ---- models, nudges ----

LoadedModel TraceWorker::load_now(const std::string& ref) {
  const std::lock_guard lock(run_mutex_);
  LoadedModel loaded{ref, nullptr, {}};
  try {
    loaded.model = runner_.load(ref);
  } catch (const std::bad_alloc&) {
    loaded.problem = Message{"error.no_memory"};
  } catch (const Error& error) {
    loaded.problem = error.message();
  }
  return loaded;
}

void TraceWorker::request_model(const std::string& ref) {
  {
    const std::lock_guard lock(mutex_);
    wanted_.model = ref;
    loaded_.reset();
    wake();
  }
}

std::optional<LoadedModel> TraceWorker::poll_model() {
  const std::lock_guard lock(mutex_);
  std::optional<LoadedModel> loaded = std::move(loaded_);
  loaded_.reset();
  return loaded;
}

FinishedNudge TraceWorker::nudge_now(const NudgeRequest& request) {
  const std::lock_guard lock(run_mutex_);
  FinishedNudge done{request, {}, {}};
  const Trace& trace = *request.trace;
  const Program& program = trace.program();
  try {
    const TensorId of =
        program.tensors[static_cast<std::size_t>(program.resolve(request.gradient))].source;
    // An alias may have other axes over the same cells.
    const TensorView gradient = trace.tensor(request.gradient), cells = trace.tensor(of);
    const auto index = unravel(cells.axes, flat_index(gradient.axes, request.index));
    double step = request.step;
    if (step <= 0) {
      step = nudge_step(cells, index, static_cast<double>(gradient.at(request.index)),
                        mean_loss(trace));
    }
    done.nudge = nudge(trace, of, index, step, *backend_);
  } catch (const std::bad_alloc&) {
    done.problem = Message{"error.no_memory"};
  } catch (const Error& error) {
    done.problem = error.message();
  }
  return done;
}

void TraceWorker::request_nudge(NudgeRequest request) {
  {
    const std::lock_guard lock(mutex_);
    wanted_.nudge = std::move(request);
    nudged_.reset();
    wake();
  }
}

std::optional<FinishedNudge> TraceWorker::poll_nudge() {
  const std::lock_guard lock(mutex_);
  return std::exchange(nudged_, std::nullopt);
}

bool TraceWorker::busy() {
  const std::lock_guard lock(mutex_);
  return running_ || wanted_.any();
}

bool TraceWorker::would_wait() {
  const std::lock_guard lock(mutex_);
  return running_ && !measuring_;
}

void TraceWorker::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !running_ && !wanted_.any(); });
}

// The ranges of the large tensors, so that the window finds them ready.
void TraceWorker::measure(const RunResult& result) {
  if (!result.trace) return;
  for (const OpCall& call : result.trace->program().calls) {
    result.trace->shared_range(call.out);
    result.trace->anomalies(call.out);
    const TensorId d = result.trace->program().gradient(call.out);
    if (d >= 0) result.trace->shared_range(d);
  }
}

void TraceWorker::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || wanted_.any(); });
    if (stop_) break;
    running_ = true;
    take_next(lock);
    running_ = false;
    changed_.notify_all();
  }
  lock.unlock();
  if (gpu_ && gpu_->started()) gpu_->stop();  // its context is current here
}

// One of the requests, with the lock open meanwhile. What is out of date when it is done is
// dropped.
void TraceWorker::take_next(std::unique_lock<std::mutex>& lock) {
  const auto open = [&](const auto& work) {
    lock.unlock();
    auto result = work();
    lock.lock();
    return result;
  };
  if (wanted_.stop_gpu) {
    open([&] { return gpu_->stop(), 0; });
    wanted_.stop_gpu = false;
  } else if (wanted_.model) {
    const std::string ref = *std::exchange(wanted_.model, std::nullopt);
    LoadedModel loaded = open([&] { return load_now(ref); });
    if (!wanted_.model) loaded_ = std::move(loaded);
  } else if (wanted_.run) {
    const RunRequest request = *std::exchange(wanted_.run, std::nullopt);
    FinishedRun done = open([&] {
      FinishedRun run_of = run(request);
      measure(run_of.result);
      return run_of;
    });
    if (!done.gpu_problem.empty()) wanted_.test = false;  // nothing is left to test
    if (!wanted_.run) finished_ = std::move(done);
  } else if (wanted_.nudge) {
    const NudgeRequest request = *std::exchange(wanted_.nudge, std::nullopt);
    FinishedNudge done = open([&] { return nudge_now(request); });
    if (!wanted_.nudge) nudged_ = std::move(done);
  } else if (wanted_.test) {
    // A part of it; the other requests come first again after that.
    GpuState state;
    measuring_ = true;
    const bool more = open([&] { return test_some(state); });
    measuring_ = false;
    if (!more) {
      wanted_.test = false;
      gpu_state_ = std::move(state);
    }
  } else {
    run_size(lock);
  }
}

void TraceWorker::run_size(std::unique_lock<std::mutex>& lock) {
  if (std::exchange(sizes_begin_, false)) chart_ = {};
  const RunRequest request = *wanted_.sizes;
  measuring_ = true;
  lock.unlock();
  const bool more = measurer_.add_point(request, *gpu_, chart_);
  lock.lock();
  measuring_ = false;
  if (!more && !sizes_begin_) wanted_.sizes.reset();
  chart_.measuring = wanted_.sizes.has_value();
  sizes_ = chart_;
}

}  // namespace headlight
