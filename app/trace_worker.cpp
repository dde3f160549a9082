#include "app/trace_worker.h"

#include <chrono>

#include "core/backward.h"
#include "core/error.h"

namespace headlight {

TraceWorker::TraceWorker(RunLimits limits, const std::string& backend, int threads)
    : runner_(limits), backend_(make_backend(backend, threads)) {}

TraceWorker::~TraceWorker() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    wanted_.reset();
    wanted_model_.reset();
    wanted_nudge_.reset();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

FinishedRun TraceWorker::run(const Document& document, std::shared_ptr<const Model> model,
                             bool gradients) {
  const std::lock_guard lock(run_mutex_);
  const auto start = std::chrono::steady_clock::now();
  FinishedRun run{document, runner_.run(document, *backend_, std::move(model), gradients), 0};
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  run.milliseconds = took.count();
  return run;
}

FinishedRun TraceWorker::run_now(const Document& document, std::shared_ptr<const Model> model,
                                 bool gradients) {
  {
    const std::lock_guard lock(mutex_);
    wanted_.reset();
    finished_.reset();  // older than what is asked for now
  }
  return run(document, std::move(model), gradients);
}

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
    wanted_model_ = ref;
    loaded_.reset();
    if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
  }
  changed_.notify_all();
}

std::optional<LoadedModel> TraceWorker::poll_model() {
  const std::lock_guard lock(mutex_);
  std::optional<LoadedModel> loaded = std::move(loaded_);
  loaded_.reset();
  return loaded;
}

void TraceWorker::request(const Document& document, std::shared_ptr<const Model> model,
                          bool gradients) {
  {
    const std::lock_guard lock(mutex_);
    wanted_ = Request{document, std::move(model), gradients};
    finished_.reset();
    if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
  }
  changed_.notify_all();
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
    wanted_nudge_ = std::move(request);
    nudged_.reset();
    if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
  }
  changed_.notify_all();
}

std::optional<FinishedNudge> TraceWorker::poll_nudge() {
  const std::lock_guard lock(mutex_);
  return std::exchange(nudged_, std::nullopt);
}

std::optional<FinishedRun> TraceWorker::poll() {
  const std::lock_guard lock(mutex_);
  std::optional<FinishedRun> run = std::move(finished_);
  finished_.reset();
  return run;
}

bool TraceWorker::busy() {
  const std::lock_guard lock(mutex_);
  return running_ || wanted_ || wanted_model_ || wanted_nudge_;
}

void TraceWorker::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !running_ && !wanted_ && !wanted_model_ && !wanted_nudge_; });
}

// The ranges of the large tensors, so that the window finds them ready.
void TraceWorker::measure(const RunResult& result) {
  if (!result.trace) return;
  for (const OpCall& call : result.trace->program().calls) {
    result.trace->shared_range(call.out);
    result.trace->census(call.out);
    const TensorId d = result.trace->program().gradient(call.out);
    if (d >= 0) result.trace->shared_range(d);
  }
}

void TraceWorker::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || wanted_ || wanted_model_ || wanted_nudge_; });
    if (stop_) return;
    std::optional<std::string> ref = std::exchange(wanted_model_, std::nullopt);
    std::optional<Request> request;
    if (!ref) request = std::exchange(wanted_, std::nullopt);
    std::optional<NudgeRequest> moved;
    if (!ref && !request) moved = std::exchange(wanted_nudge_, std::nullopt);
    running_ = true;
    lock.unlock();
    std::optional<LoadedModel> loaded;
    std::optional<FinishedRun> done;
    if (ref) loaded = load_now(*ref);
    if (request) done = run(request->document, std::move(request->model), request->gradients);
    if (done) measure(done->result);
    std::optional<FinishedNudge> nudged;
    if (moved) nudged = nudge_now(*moved);
    lock.lock();
    if (nudged && !wanted_nudge_) nudged_ = std::move(nudged);
    running_ = false;
    // What is out of date already is dropped.
    if (loaded && !wanted_model_) loaded_ = std::move(loaded);
    if (done && !wanted_) finished_ = std::move(done);
    changed_.notify_all();
  }
}

}  // namespace headlight
