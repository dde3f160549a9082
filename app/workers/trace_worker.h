// Runs documents: small ones at once, large ones on a thread of their own, the newest first.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "app/ui/state/compute_state.h"
#include "app/workers/size_measurer.h"
#include "core/check/nudge.h"
#include "core/run/runner.h"
#include "core/view/device_cells.h"

namespace headlight {

class Gpu;
class TimedBackend;

/// Makes the graphics card that a window uses (app/workers/gpu.h); called on the window's thread
/// when it is first wanted. Throws Error.
using GpuMaker = std::function<std::unique_ptr<Gpu>()>;

/// A model that was asked for, or why it could not be loaded.
struct LoadedModel {
  std::string ref;
  std::shared_ptr<const Model> model;
  Message problem;
};

/// What is to be run, and on what.
struct RunRequest {
  Document document;
  std::shared_ptr<const Model> model = nullptr;  // as of Runner
  bool gradients = false;
  ComputeMode mode = ComputeMode::kCpu;
};

struct FinishedRun {
  Document document;
  RunResult result;
  double milliseconds = 0;
  std::shared_ptr<const BothRun> both = nullptr;              // of ComputeMode::kBoth
  std::shared_ptr<const DeviceCells> device_cells = nullptr;  // of the result, where it has some
  std::optional<GpuState> gpu = std::nullopt;  // unless the processor alone was asked for
  // Why the graphics card could not run it, so that the processor did; empty otherwise.
  Message gpu_problem = {};
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

  /// The graphics card to use from now on; before it every run is the processor's.
  void use_gpu(std::unique_ptr<Gpu>);
  bool has_gpu() const { return gpu_ != nullptr; }
  /// Lets go of it, before the window's context goes. Waits for the run in the background.
  void stop_gpu();
  /// Starts the graphics card and tests it, in the background; what came of it, once.
  void request_gpu_test();
  std::optional<GpuState> poll_gpu();
  /// Runs at once and waits for it. Waits for a run in the background to end first.
  FinishedRun run_now(const RunRequest&);
  /// Runs in the background; a request that was still waiting is dropped.
  void request(const RunRequest&);
  /// Measures the model's runs of more and more tokens, on both, in the background, until they take
  /// too long or there is something else to do for good: stop_sizes().
  void request_sizes(const RunRequest&);
  void stop_sizes();
  /// The points so far, when there is a new one.
  std::optional<SizeChart> poll_sizes();
  /// Loads a model here and now, or in the background; what is loaded is kept for the runs.
  LoadedModel load_now(const std::string& ref);
  void request_model(const std::string& ref);
  /// The model that was asked for last, once.
  std::optional<LoadedModel> poll_model();
  /// Checks a gradient here and now, or in the background. Neither throws.
  FinishedNudge nudge_now(const NudgeRequest&);
  void request_nudge(NudgeRequest);
  std::optional<FinishedNudge> poll_nudge();
  /// Waits until a run has ended, but no longer; has one?
  bool wait_for(double seconds);
  /// The newest finished run, once.
  std::optional<FinishedRun> poll();
  /// Is something running or waiting?
  bool busy();
  /// Would run_now() of the processor have to wait for what runs in the background?
  bool would_wait();
  /// Blocks until nothing is.
  void wait();

 private:
  // What the thread has to do; the first of them comes first.
  struct Preferences {
    std::optional<std::string> model;
    std::optional<RunRequest> run;
    std::optional<NudgeRequest> nudge;
    bool test = false;
    bool stop_gpu = false;
    std::optional<RunRequest> sizes;  // goes on until it is done
    bool any() const { return model || run || nudge || test || stop_gpu || sizes; }
  };
  void wake();
  void loop();
  void take_next(std::unique_lock<std::mutex>&);
  void run_size(std::unique_lock<std::mutex>&);
  FinishedRun run(const RunRequest&);
  void run_on_gpu(const RunRequest&, FinishedRun&);
  void run_both(const RunRequest&, Backend& guarded, const TimedBackend& timed, FinishedRun&);
  bool test_some(GpuState&);
  void measure(const RunResult&);

  const RunLimits limits_;
  std::mutex run_mutex_;  // guards runner_ and backend_
  Runner runner_;
  std::unique_ptr<Backend> backend_;
  SizeMeasurer measurer_;     // of the thread alone
  std::unique_ptr<Gpu> gpu_;  // of the thread alone, once it is there
  std::mutex mutex_;          // guards the rest
  std::condition_variable changed_;
  Preferences wanted_;
  std::optional<FinishedRun> finished_;
  std::optional<LoadedModel> loaded_;
  std::optional<FinishedNudge> nudged_;
  std::optional<GpuState> gpu_state_;
  std::optional<SizeChart> sizes_;
  SizeChart chart_;  // of the thread: the points so far
  bool running_ = false, stop_ = false;
  bool sizes_begin_ = false;
  bool measuring_ = false;  // what runs is a test or a measurement, without runner_
  std::thread thread_;
};

}  // namespace headlight
