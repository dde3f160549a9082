// Runs documents: small ones at once, large ones on a thread of their own, the newest first.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

#include "app/ui/state/compute_state.h"
#include "app/workers/size_measurer.h"
#include "core/base/mailbox.h"
#include "core/check/nudge.h"
#include "core/graph/program_cost.h"
#include "core/run/runner.h"
#include "core/train/heads/trace_heads.h"
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
  std::string shown = {};  // as of Runner::set_shown()
};

struct FinishedRun {
  RunResult result;
  double milliseconds = 0;
  std::shared_ptr<const BothRun> both = nullptr;              // of ComputeMode::kBoth
  std::shared_ptr<const DeviceCells> device_cells = nullptr;  // of the result, where it has some
  std::shared_ptr<const TraceHeads> heads = nullptr;          // of TraceTask::kShown
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

/// A layer of a run that does not keep all, to be computed again.
struct LayerRequest {
  std::shared_ptr<const Trace> trace;
  TensorId tensor = -1;  // one of the layer's
};
struct FinishedLayer {
  LayerRequest request;
  std::shared_ptr<const void> held;  // keeps it where it is; null where it could not be computed
};

/// What the thread has to do; the first of them comes first. A request takes the place of the one
/// before it of the same kind.
enum class TraceTask {
  kStopGpu,
  kModel,
  kLayer,
  kShown,   // the run that is shown,
  kNewest,  // and those beside it: with the newest weights, with the pinned ones
  kPinned,
  kNudge,
  kTest,   // goes on until it is done
  kSizes,  // and so does this
  kRates,
};

using BackendMaker = std::function<std::unique_ptr<Backend>()>;

/// What is done here and now is done by the processor on the caller's thread, and only when nothing
/// in the background computes with it: otherwise the answer is unset, and it is to be asked for.
/// What is asked for is taken by poll…(), once; what is out of date by then never comes. Nothing
/// here throws.
class TraceWorker {
 public:
  /// `make_backend` is called twice: what is measured keeps out of the way of what is shown.
  TraceWorker(RunLimits, const BackendMaker& make_backend);
  ~TraceWorker();
  TraceWorker(const TraceWorker&) = delete;
  TraceWorker& operator=(const TraceWorker&) = delete;

  /// The graphics card to use from now on; before it every run is the processor's.
  void use_gpu(std::unique_ptr<Gpu>);
  bool has_gpu() const { return gpu_ != nullptr; }
  /// Lets go of it, before the window's context goes. Waits for the run in the background.
  void stop_gpu();
  /// Starts the graphics card and tests it, in the background.
  void request_gpu_test() { mailbox_.post(TraceTask::kTest, {}); }
  std::optional<GpuState> poll_gpu();
  /// With the graphics card it is done by the thread, and waited for.
  std::optional<FinishedRun> run_now(const RunRequest&, TraceTask = TraceTask::kShown);
  void request(const RunRequest& r, TraceTask task = TraceTask::kShown) { mailbox_.post(task, r); }
  std::optional<FinishedRun> poll(TraceTask = TraceTask::kShown);
  /// Measures the model's runs of more and more tokens, on both, in the background, until they take
  /// too long or it is dropped.
  void request_sizes(const RunRequest& r) { mailbox_.post(TraceTask::kSizes, r); }
  /// The points so far, when there is a new one.
  std::optional<SizeChart> poll_sizes();
  /// Measures how fast the processor runs the operations of this model and of those from papers
  /// (app/workers/rates/op_rates.h), by their places in all_ops().
  void request_rates(const RunRequest& r) { mailbox_.post(TraceTask::kRates, r); }
  std::optional<std::vector<OpRate>> poll_rates();
  /// What is loaded is kept for the runs.
  std::optional<LoadedModel> load_now(const std::string& ref);
  void request_model(const std::string& ref) { mailbox_.post(TraceTask::kModel, ref); }
  std::optional<LoadedModel> poll_model();
  std::optional<FinishedNudge> nudge_now(const NudgeRequest&);
  void request_nudge(const NudgeRequest& r) { mailbox_.post(TraceTask::kNudge, r); }
  std::optional<FinishedNudge> poll_nudge();
  void request_layer(const LayerRequest& r) { mailbox_.post(TraceTask::kLayer, r); }
  std::optional<FinishedLayer> poll_layer();
  /// How far the run or load in the background is, 0 to 1.
  double share() const { return share_; }
  /// It is not wanted any more.
  void drop(TraceTask task) { mailbox_.drop(task); }
  /// Was it asked for, and has not been taken yet?
  bool awaits(TraceTask task) const { return mailbox_.awaits(task); }
  /// Waits until the run that is shown has ended, but no longer; has it?
  bool wait_for(double seconds) { return mailbox_.wait_for(TraceTask::kShown, seconds); }
  /// Blocks until nothing is to be done any more.
  void wait() { mailbox_.wait(); }

 private:
  using Request = std::variant<std::monostate, RunRequest, std::string, NudgeRequest, LayerRequest>;
  using Answer = std::variant<std::monostate, FinishedRun, LoadedModel, FinishedNudge,
                              FinishedLayer, GpuState, SizeChart, std::vector<OpRate>>;
  using Box = Mailbox<TraceTask, Request, Answer>;

  template <class Work>
  std::optional<std::invoke_result_t<Work>> here_and_now(const Work&);
  Answer carry_out(Box::Job&);
  FinishedRun run(const RunRequest&, TraceTask);
  void run_on_gpu(const RunRequest&, FinishedRun&);
  void run_both(const RunRequest&, Backend& guarded, const TimedBackend& timed, FinishedRun&);
  LoadedModel load(const std::string& ref);
  FinishedNudge nudge_of(const NudgeRequest&);
  static FinishedLayer layer_of(const LayerRequest&);
  Answer test_some(Box::Job&);
  Answer measure_size(Box::Job&);
  void measure(const RunResult&);

  const RunLimits limits_;
  std::atomic<double> share_{0};
  std::mutex run_mutex_;  // guards runner_ and backend_; the window's thread never waits for it
  Runner runner_;
  std::unique_ptr<Backend> backend_;
  // Of the thread alone, once it is there.
  SizeMeasurer measurer_;
  std::unique_ptr<Gpu> gpu_;
  SizeChart chart_;       // the points so far,
  Box::Id chart_of_ = 0;  // of this request
  Box mailbox_;           // last: its thread ends first
};

}  // namespace headlight
