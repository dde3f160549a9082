#include "app/workers/trace_worker.h"

#include <new>

#include "app/workers/gpu.h"
#include "app/workers/guarded_backend.h"
#include "app/workers/rates/op_rates.h"
#include "app/workers/stopwatch.h"
#include "app/workers/timed_backend.h"
#include "core/autodiff/backward.h"
#include "core/base/error.h"
#include "core/io/file_steps.h"
#include "core/run/targets.h"

namespace headlight {

namespace {

FinishedRun failed_run(const Message& problem) {
  FinishedRun run;
  run.result.message = problem;
  run.result.problem = say(Language::kEnglish, problem);
  return run;
}

}  // namespace

TraceWorker::TraceWorker(RunLimits limits, const BackendMaker& make_backend)
    : limits_(limits),
      runner_(limits),
      backend_(make_backend()),
      measurer_(limits, make_backend()),
      mailbox_([this](Box::Job& job) { return carry_out(job); }, {.end = [this] {
                 if (gpu_ && gpu_->started()) gpu_->stop();  // its context is current here
               }}) {}

TraceWorker::~TraceWorker() = default;

template <class Work>
std::optional<std::invoke_result_t<Work>> TraceWorker::here_and_now(const Work& work) {
  const std::unique_lock lock(run_mutex_, std::try_to_lock);
  if (!lock) return std::nullopt;
  runner_.set_progress({});
  return work();
}

TraceWorker::Answer TraceWorker::carry_out(Box::Job& job) {
  switch (job.key) {
    case TraceTask::kStopGpu:
      if (gpu_->started()) gpu_->stop();
      return {};
    case TraceTask::kTest:
      return test_some(job);
    case TraceTask::kSizes:
      return measure_size(job);
    case TraceTask::kRates:
      return rates_for_all(std::get<RunRequest>(job.request).document.config, measurer_.backend());
    case TraceTask::kLayer:
      return layer_of(std::get<LayerRequest>(job.request));
    default:
      break;
  }
  const std::lock_guard lock(run_mutex_);
  runner_.set_progress([&](const Progress& progress) {
    share_ = progress.share;
    return !job.stop.stop_requested();
  });
  share_ = 0;
  if (const auto* ref = std::get_if<std::string>(&job.request)) return load(*ref);
  if (const auto* nudge = std::get_if<NudgeRequest>(&job.request)) return nudge_of(*nudge);
  FinishedRun done = run(std::get<RunRequest>(job.request), job.key);
  measure(done.result);
  return done;
}

// ---- runs ----

FinishedRun TraceWorker::run(const RunRequest& r, TraceTask task) {
  FinishedRun run;
  runner_.set_limits(limits_);
  runner_.set_shown(r.shown);
  if (r.mode != ComputeMode::kCpu) run_on_gpu(r, run);
  if (r.mode == ComputeMode::kCpu || !run.gpu_problem.empty()) {
    run.milliseconds = milliseconds(
        [&] { run.result = runner_.run(r.document, *backend_, r.model, r.gradients); });
  }
  if (task == TraceTask::kShown && run.result.trace)
    run.heads = std::make_shared<const TraceHeads>(score_heads(*run.result.trace));
  return run;
}

void TraceWorker::run_on_gpu(const RunRequest& r, FinishedRun& run) {
  try {
    GlBackend& gl = gpu_->backend();
    gpu_->use_fresh_storage();
    const bool both = r.mode == ComputeMode::kBoth;
    // Both are shown, whatever they are.
    const double share = gl.spot_checks().share();
    if (both) gl.spot_checks().set_share(0);
    TimedBackend timed(gl, both ? &gl.queue() : nullptr);
    GuardedBackend guarded(both ? static_cast<Backend&>(timed) : gl);
    if (both) {
      run_both(r, guarded, timed, run);
    } else {
      run.milliseconds = milliseconds(
          [&] { run.result = runner_.run(r.document, guarded, r.model, r.gradients); });
    }
    gl.spot_checks().set_share(share);
    if (!guarded.failure().empty()) throw Error(guarded.failure());
    measure(run.result);
    if (run.result.trace) run.device_cells = gpu_->device_cells(*run.result.trace);
  } catch (...) {
    run.gpu_problem = caught_problem();
    run.result = {};
    run.both.reset();
    gpu_->fail(run.gpu_problem);
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

std::optional<FinishedRun> TraceWorker::run_now(const RunRequest& r, TraceTask task) {
  mailbox_.drop(task);  // older than what is asked for now
  if (r.mode != ComputeMode::kCpu) {
    // The graphics card belongs to the thread.
    request(r, task);
    mailbox_.wait(task);
    return poll(task);
  }
  return here_and_now([&] {
    try {
      return run(r, task);
    } catch (...) {
      return failed_run(caught_problem());
    }
  });
}

std::optional<FinishedRun> TraceWorker::poll(TraceTask task) {
  std::optional<Box::Reply> reply = mailbox_.take(task);
  if (!reply) return std::nullopt;
  if (!reply->problem.empty()) return failed_run(reply->problem);
  return std::get<FinishedRun>(std::move(reply->answer));
}

// ---- the graphics card ----

void TraceWorker::use_gpu(std::unique_ptr<Gpu> gpu) { gpu_ = std::move(gpu); }

void TraceWorker::stop_gpu() {
  if (!gpu_) return;
  for (const TraceTask task : {TraceTask::kShown, TraceTask::kSizes, TraceTask::kTest}) drop(task);
  mailbox_.post(TraceTask::kStopGpu, {});
  mailbox_.wait(TraceTask::kStopGpu);
  gpu_.reset();
}

std::optional<GpuState> TraceWorker::poll_gpu() {
  std::optional<Box::Reply> reply = mailbox_.take(TraceTask::kTest);
  if (!reply) return std::nullopt;
  if (!reply->problem.empty()) {  // the system gave the worker no thread
    GpuState none;
    none.phase = GpuPhase::kFailed;
    none.problem = reply->problem;
    return none;
  }
  GpuState* done = std::get_if<GpuState>(&reply->answer);
  return done ? std::optional(std::move(*done)) : std::nullopt;
}

// A part of it; the other requests come first again after that. A device that has failed is not
// started again for it.
TraceWorker::Answer TraceWorker::test_some(Box::Job& job) {
  const GpuPhase phase = gpu_->state().phase;
  try {
    if (phase != GpuPhase::kFailed && phase != GpuPhase::kAbsent) job.again = gpu_->test_some();
  } catch (...) {
    gpu_->fail(caught_problem());
  }
  return job.again ? Answer{} : gpu_->state();
}

// ---- time against size ----

std::optional<SizeChart> TraceWorker::poll_sizes() {
  std::optional<Box::Reply> reply = mailbox_.take(TraceTask::kSizes);
  if (!reply) return std::nullopt;
  if (!reply->problem.empty()) return SizeChart{{}, false, reply->problem};
  return std::get<SizeChart>(std::move(reply->answer));
}

TraceWorker::Answer TraceWorker::measure_size(Box::Job& job) {
  if (std::exchange(chart_of_, job.id) != job.id) chart_ = {};
  job.again = measurer_.add_point(std::get<RunRequest>(job.request), *gpu_, chart_);
  chart_.measuring = job.again;
  return chart_;
}

std::optional<std::vector<OpRate>> TraceWorker::poll_rates() {
  std::optional<Box::Reply> reply = mailbox_.take(TraceTask::kRates);
  if (!reply) return std::nullopt;
  auto* rates = std::get_if<std::vector<OpRate>>(&reply->answer);
  return rates ? std::move(*rates) : std::vector<OpRate>();
}

// ---- models, nudges ----

std::optional<LoadedModel> TraceWorker::load_now(const std::string& ref) {
  mailbox_.drop(TraceTask::kModel);
  return here_and_now([&] { return load(ref); });
}

LoadedModel TraceWorker::load(const std::string& ref) {
  LoadedModel loaded{ref, nullptr, {}};
  try {
    loaded.model = runner_.load(ref);
  } catch (const std::bad_alloc&) {
    loaded.problem = Message{"folder.no_memory", {{"path", shown(ref)}}};
  } catch (...) {
    loaded.problem = caught_problem();
  }
  return loaded;
}

std::optional<LoadedModel> TraceWorker::poll_model() {
  std::optional<Box::Reply> reply = mailbox_.take(TraceTask::kModel);
  if (!reply) return std::nullopt;
  if (!reply->problem.empty()) return LoadedModel{{}, nullptr, reply->problem};
  return std::get<LoadedModel>(std::move(reply->answer));
}

std::optional<FinishedNudge> TraceWorker::nudge_now(const NudgeRequest& request) {
  mailbox_.drop(TraceTask::kNudge);
  return here_and_now([&] { return nudge_of(request); });
}

FinishedNudge TraceWorker::nudge_of(const NudgeRequest& request) {
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
  } catch (...) {
    done.problem = caught_problem();
  }
  return done;
}

// By the trace's own backend, so that a run beside it goes on.
FinishedLayer TraceWorker::layer_of(const LayerRequest& request) {
  return {request, request.trace->hold(request.tensor)};
}

std::optional<FinishedLayer> TraceWorker::poll_layer() {
  std::optional<Box::Reply> reply = mailbox_.take(TraceTask::kLayer);
  if (!reply) return std::nullopt;
  if (!reply->problem.empty()) return FinishedLayer{};
  return std::get<FinishedLayer>(std::move(reply->answer));
}

std::optional<FinishedNudge> TraceWorker::poll_nudge() {
  std::optional<Box::Reply> reply = mailbox_.take(TraceTask::kNudge);
  if (!reply) return std::nullopt;
  if (!reply->problem.empty()) return FinishedNudge{{}, {}, reply->problem};
  return std::get<FinishedNudge>(std::move(reply->answer));
}

// The ranges of the large tensors that are kept, so that the window finds them ready.
void TraceWorker::measure(const RunResult& result) {
  if (!result.trace) return;
  for (const OpCall& call : result.trace->program().calls) {
    if (!result.trace->is_there(call.out)) continue;
    result.trace->range(call.out);
    result.trace->anomalies(call.out);
    const TensorId d = result.trace->program().gradient(call.out);
    if (d >= 0) result.trace->range(d);
  }
}

}  // namespace headlight
