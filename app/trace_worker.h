// Runs documents: small ones at once, large ones on a thread of their own, the newest first.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/runner.h"

namespace headlight {

struct FinishedRun {
  Document document;
  RunResult result;
  double milliseconds = 0;
};

class TraceWorker {
 public:
  TraceWorker(RunLimits, const std::string& backend, int threads);
  ~TraceWorker();
  TraceWorker(const TraceWorker&) = delete;
  TraceWorker& operator=(const TraceWorker&) = delete;

  /// Runs here and now. Waits for a run in the background to end first.
  FinishedRun run_now(const Document&);
  /// Runs in the background; a request that was still waiting is dropped.
  void request(const Document&);
  /// The newest finished run, once.
  std::optional<FinishedRun> poll();
  /// Is something running or waiting?
  bool busy();
  /// Blocks until nothing is.
  void wait();

 private:
  FinishedRun run(const Document&);
  void loop();

  std::mutex run_mutex_;  // guards runner_ and backend_
  Runner runner_;
  std::unique_ptr<Backend> backend_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Document> wanted_;
  std::optional<FinishedRun> finished_;
  bool running_ = false, stop_ = false;
  std::thread thread_;
};

}  // namespace headlight
