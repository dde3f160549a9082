// The shell's part for who computes: the processor, the graphics card, or both side by side.
#include <algorithm>

#include "app/gl/compute/kernel_view.h"
#include "app/shell/shell.h"
#include "app/workers/gpu.h"
#include "core/base/error.h"

namespace headlight {
namespace {

bool asks_gpu(ComputeMode mode) { return mode != ComputeMode::kCpu; }

ComputeMode mode_of(ComputeRequest request) {
  return request == ComputeRequest::kBoth  ? ComputeMode::kBoth
         : request == ComputeRequest::kGpu ? ComputeMode::kGpu
                                           : ComputeMode::kCpu;
}

ComputeRequest request_of(ComputeMode mode) {
  return mode == ComputeMode::kBoth  ? ComputeRequest::kBoth
         : mode == ComputeMode::kGpu ? ComputeRequest::kGpu
                                     : ComputeRequest::kCpu;
}

}  // namespace

void Shell::on(const ChooseCompute& a) {
  Session& s = state_.session;
  GpuState& gpu = state_.derived.gpu;
  if (asks_gpu(a.mode) && gpu.phase == GpuPhase::kAbsent)
    return notify(NoticeKind::kWarning, Message{"compute.absent"}.with(gpu.problem));
  s.compute_request = request_of(a.mode);
  s.compute = a.mode;
}

void Shell::on(const ComputeAutomatically& a) {
  Session& s = state_.session;
  s.compute_request = a.automatic ? ComputeRequest::kAutomatic : request_of(s.compute);
  if (!a.automatic) return;
  const GpuState& gpu = state_.derived.gpu;
  s.compute = gpu.passed() && !gpu.software ? ComputeMode::kGpu : ComputeMode::kCpu;
}

void Shell::on(const ShowSizes& a) { state_.session.compute_sizes = a.sizes; }
void Shell::on(const ShowKernel& a) { state_.session.kernel = a.kernel; }

// Of the device that is at hand, else of one as most are: the shader can be read without it.
KernelView Shell::kernel_of(const CellPick& cell) const {
  const Trace& trace = *state_.derived.trace;
  const GpuState& gpu = state_.derived.gpu;
  const auto cells = [&](TensorId id) { return trace.tensor(id).cells(); };
  return locate_cell(trace.program(), trace.program().find(cell.tensor), cell.index,
                     gpu.kernels ? *gpu.kernels : KernelDevice::usual(), cells);
}

bool Shell::perform_compute(Command command) {
  Session& s = state_.session;
  switch (command) {
    case Command::kComputeCpu:
      on(ChooseCompute{ComputeMode::kCpu});
      return true;
    case Command::kComputeGpu:
      on(ChooseCompute{ComputeMode::kGpu});
      return true;
    case Command::kComputeBoth:
      on(ChooseCompute{ComputeMode::kBoth});
      return true;
    case Command::kNextCompute:
      on(ChooseCompute{s.compute == ComputeMode::kCpu   ? ComputeMode::kGpu
                       : s.compute == ComputeMode::kGpu ? ComputeMode::kBoth
                                                        : ComputeMode::kCpu});
      return true;
    case Command::kCompareBackends:
      s.compute_open = true;
      return true;
    case Command::kKernel:
      s.inspector_tab = InspectorTab::kCode;
      s.inspector_open = s.kernel = true;
      return true;
    default:
      return false;
  }
}

void Shell::offer_gpu(GpuMaker maker, const GpuState& gpu) {
  make_gpu_ = std::move(maker);
  state_.derived.gpu = gpu;
  Session& s = state_.session;
  if (gpu.phase == GpuPhase::kAbsent) {
    if (asks_gpu(mode_of(s.compute_request)) || asks_gpu(s.compute))
      notify(NoticeKind::kWarning, Message{"compute.absent"}.with(gpu.problem));
    s.compute = ComputeMode::kCpu;
    return;
  }
  if (s.compute_request != ComputeRequest::kAutomatic && !asks_gpu(s.compute))
    s.compute = mode_of(s.compute_request);
  // A software renderer would only make the processor do the same work in a roundabout way.
  const bool may_choose = s.compute_request == ComputeRequest::kAutomatic && !gpu.software;
  if (!may_choose || !options_.background || !start_gpu()) return;
  state_.derived.gpu.testing = true;
  worker_.request_gpu_test();
}

bool Shell::is_working() const {
  const Derived& d = state_.derived;
  return d.computing || d.gpu.testing || d.sizes.measuring || is_training() ||
         worker_.awaits(TraceTask::kNewest) || worker_.awaits(TraceTask::kPinned);
}

void Shell::stop_gpu() {
  worker_.stop_gpu();
  Derived& d = state_.derived;
  d.computing = worker_.awaits(TraceTask::kModel);
  d.gpu.testing = d.sizes.measuring = false;
  if (trainer_) trainer_->stop_gpu();
  make_gpu_ = nullptr;
}

// True when there is one to ask; otherwise the processor computes, and a notice says why.
bool Shell::start_gpu() {
  GpuState& gpu = state_.derived.gpu;
  if (gpu.phase == GpuPhase::kUnknown || gpu.phase == GpuPhase::kFailed)
    gpu.phase = GpuPhase::kStarting;
  if (worker_.has_gpu()) return true;
  try {
    worker_.use_gpu(new_gpu());
    return true;
  } catch (const Error& error) {
    gpu.phase = GpuPhase::kAbsent;
    gpu.problem = error.message();
    tell_gpu(gpu);
    return false;
  }
}

std::unique_ptr<Gpu> Shell::new_gpu() const {
  return make_gpu_ ? make_gpu_() : std::make_unique<Gpu>(make_egl_compute_context());
}

// Training has a thread of its own, and on it a context of its own.
bool Shell::give_trainer_gpu() {
  if (trainer_->has_gpu()) return true;
  try {
    trainer_->use_gpu(new_gpu());
    return true;
  } catch (const Error& error) {
    notify(NoticeKind::kWarning, Message{"train.left_gpu"}.with(error.message()));
    return false;
  }
}

// The same document goes on with the processor.
void Shell::tell_gpu(const GpuState& gpu) {
  state_.session.compute = computed_mode_ = ComputeMode::kCpu;
  const bool failed = gpu.phase == GpuPhase::kFailed;
  notify(failed ? NoticeKind::kError : NoticeKind::kWarning,
         Message{failed ? "compute.failed" : "compute.absent"}.with(gpu.problem));
}

void Shell::take_gpu(FinishedRun& run) {
  Derived& d = state_.derived;
  d.both = run.both;
  d.device_cells = run.device_cells;
  if (!run.gpu) return;
  const bool testing = d.gpu.testing;
  d.gpu = *run.gpu;
  d.gpu.testing = testing && run.gpu_problem.empty();
  if (!run.gpu_problem.empty()) return tell_gpu(d.gpu);
  // Once for each driver; it takes a while, so what was asked for comes first.
  if (!options_.background || d.gpu.tested || testing) return;
  d.gpu.testing = true;
  worker_.request_gpu_test();
}

void Shell::take_gpu_test(const GpuState& gpu) {
  Session& s = state_.session;
  state_.derived.gpu = gpu;
  const bool chosen = s.compute_request == ComputeRequest::kAutomatic;
  if (gpu.phase != GpuPhase::kReady) {
    if (asks_gpu(s.compute)) tell_gpu(gpu);
  } else if (!gpu.passed()) {
    if (chosen) s.compute = ComputeMode::kCpu;
    notify(NoticeKind::kWarning, Message{"compute.test_failed"}.with(gpu.failures.front()));
  } else if (chosen && !gpu.software) {
    s.compute = ComputeMode::kGpu;
  }
}

// ---- time against size ----

void Shell::on(const MeasureSizes& a) {
  Derived& d = state_.derived;
  if (!a.measure) {
    worker_.drop(TraceTask::kSizes);
    d.sizes.measuring = false;
    return;
  }
  if (!d.trace || !start_gpu()) return;
  d.sizes = {};
  d.sizes.measuring = true;
  sizes_config_ = state_.document().config;
  sizes_model_ = state_.document().model;
  worker_.request_sizes({state_.document(), d.model, false, ComputeMode::kBoth});
}

// They are of one model; another one has other times.
void Shell::forget_sizes() {
  SizeChart& sizes = state_.derived.sizes;
  const Document& doc = state_.document();
  if (sizes.points.empty() && !sizes.measuring) return;
  if (doc.config == sizes_config_ && doc.model == sizes_model_) return;
  worker_.drop(TraceTask::kSizes);
  sizes = {};
}

}  // namespace headlight
