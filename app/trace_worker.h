// Runs documents: small ones at once, large ones on a thread of their own, the newest first.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/nudge.h"
#include "core/runner.h"

namespace headlight {

/// A model that was asked for, or why it could not be loaded.
struct LoadedModel {
  std::string ref;
  std::shared_ptr<const Model> model;
  Message problem;
};

struct FinishedRun {
  Document document;
  RunResult result;
  double milliseconds = 0;
};

/// A gradient to be checked by moving what it is the gradient of.
struct NudgeRequest {
  std::shared_ptr<const Trace> trace;
  TensorId gradient = -1;
  std::vector<std::int64_t> index;
  double step = 0;  // 0: what suits it
};
struct FinishedNudge {
  NudgeRequest request;
  Nudge nudge;
  Message problem;  // empty when all went well
};

class TraceWorker {
 public:
  TraceWorker(RunLimits, const std::string& backend, int threads);
  ~TraceWorker();
  TraceWorker(const TraceWorker&) = delete;
  TraceWorker& operator=(const TraceWorker&) = delete;

  /// Runs here and now. Waits for a run in the background to end first. The others: as of Runner.
  FinishedRun run_now(const Document&, std::shared_ptr<const Model> model = nullptr,
                      bool gradients = false);
  /// Runs in the background; a request that was still waiting is dropped.
  void request(const Document&, std::shared_ptr<const Model> model = nullptr,
               bool gradients = false);
  /// Loads a model here and now, or in the background; what is loaded is kept for the runs.
  LoadedModel load_now(const std::string& ref);
  void request_model(const std::string& ref);
  /// The model that was asked for last, once.
  std::optional<LoadedModel> poll_model();
  /// Checks a gradient here and now, or in the background. Neither throws.
  FinishedNudge nudge_now(const NudgeRequest&);
  void request_nudge(NudgeRequest);
  std::optional<FinishedNudge> poll_nudge();
  /// The newest finished run, once.
  std::optional<FinishedRun> poll();
  /// Is something running or waiting?
  bool busy();
  /// Blocks until nothing is.
  void wait();

 private:
  struct Request {
    Document document;
    std::shared_ptr<const Model> model;
    bool gradients = false;
  };
  FinishedRun run(const Document&, std::shared_ptr<const Model>, bool gradients);
  void measure(const RunResult&);
  void loop();

  std::mutex run_mutex_;  // guards runner_ and backend_
  Runner runner_;
  std::unique_ptr<Backend> backend_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Request> wanted_;
  std::optional<std::string> wanted_model_;
  std::optional<FinishedRun> finished_;
  std::optional<LoadedModel> loaded_;
  std::optional<NudgeRequest> wanted_nudge_;
  std::optional<FinishedNudge> nudged_;
  bool running_ = false, stop_ = false;
  std::thread thread_;
};

}  // namespace headlight
