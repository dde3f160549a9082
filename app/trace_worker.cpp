#include "app/trace_worker.h"

#include <chrono>

namespace headlight {

TraceWorker::TraceWorker(RunLimits limits, const std::string& backend, int threads)
    : runner_(limits), backend_(make_backend(backend, threads)) {}

TraceWorker::~TraceWorker() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    wanted_.reset();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

FinishedRun TraceWorker::run(const Document& document) {
  const std::lock_guard lock(run_mutex_);
  const auto start = std::chrono::steady_clock::now();
  FinishedRun run{document, runner_.run(document, *backend_), 0};
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  run.milliseconds = took.count();
  return run;
}

FinishedRun TraceWorker::run_now(const Document& document) {
  {
    const std::lock_guard lock(mutex_);
    wanted_.reset();
    finished_.reset();  // older than what is asked for now
  }
  return run(document);
}

void TraceWorker::request(const Document& document) {
  {
    const std::lock_guard lock(mutex_);
    wanted_ = document;
    finished_.reset();
    if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
  }
  changed_.notify_all();
}

std::optional<FinishedRun> TraceWorker::poll() {
  const std::lock_guard lock(mutex_);
  std::optional<FinishedRun> run = std::move(finished_);
  finished_.reset();
  return run;
}

bool TraceWorker::busy() {
  const std::lock_guard lock(mutex_);
  return running_ || wanted_.has_value();
}

void TraceWorker::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !running_ && !wanted_; });
}

void TraceWorker::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stop_ || wanted_; });
    if (stop_) return;
    const Document document = std::move(*wanted_);
    wanted_.reset();
    running_ = true;
    lock.unlock();
    FinishedRun done = run(document);
    if (const auto& trace = done.result.trace) {
      // The ranges of the large tensors, so that the window finds them ready.
      for (const OpCall& call : trace->program().calls) {
        trace->shared_range(call.out);
        trace->census(call.out);
      }
    }
    lock.lock();
    running_ = false;
    if (!wanted_) finished_ = std::move(done);  // else it is out of date already
    changed_.notify_all();
  }
}

}  // namespace headlight
