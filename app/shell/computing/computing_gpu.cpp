// Which of the two computes, and what becomes of the graphics card.
#include "app/shell/computing/computing_controller.h"

#include <utility>

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

WayOn look_at_both() { return {"both", Message{"way.both"}, ChooseCompute{ComputeMode::kBoth}}; }

}  // namespace

void ComputingController::on(const ChooseCompute& a) {
  ComputingSession& s = session_;
  GpuState& gpu = derived_.gpu;
  if (asks_gpu(a.mode) && gpu.phase == GpuPhase::kAbsent)
    return notify(NoticeKind::kWarning, Message{"compute.absent"}.with(gpu.problem), {},
                  NoticeLife::kOutlives);
  // Of a card that computes wrongly nothing is shown but beside what is right.
  if (a.mode == ComputeMode::kGpu && gpu.tested && !gpu.passed()) return tell_wrong(gpu);
  s.compute_request = request_of(a.mode);
  if (a.mode == ComputeMode::kGpu && test_first()) return;
  s.compute = a.mode;
}

// A card that has not been tested is, before anything of it is shown; meanwhile the processor goes
// on. False where there is nothing to wait for.
bool ComputingController::test_first() {
  GpuState& gpu = derived_.gpu;
  if (!options_.background || gpu.tested || !start_gpu()) return false;
  if (!std::exchange(gpu.testing, true)) worker_.request_gpu_test();
  return true;
}

void ComputingController::tell_wrong(const GpuState& gpu) {
  notify(NoticeKind::kWarning, Message{"compute.test_failed"}.with(gpu.failures.front()),
         {look_at_both()}, NoticeLife::kOutlives);
}

void ComputingController::on(const ComputeAutomatically& a) {
  ComputingSession& s = session_;
  s.compute_request = a.automatic ? ComputeRequest::kAutomatic : request_of(s.compute);
  if (!a.automatic) return;
  const GpuState& gpu = derived_.gpu;
  s.compute = gpu.passed() && !gpu.software ? ComputeMode::kGpu : ComputeMode::kCpu;
}

void ComputingController::on(Is<kNextCompute>) {
  on(ChooseCompute{session_.compute == ComputeMode::kCpu   ? ComputeMode::kGpu
                   : session_.compute == ComputeMode::kGpu ? ComputeMode::kBoth
                                                           : ComputeMode::kCpu});
}

void ComputingController::offer_gpu(GpuMaker maker, const GpuState& gpu) {
  make_gpu_ = std::move(maker);
  derived_.gpu = gpu;
  ComputingSession& s = session_;
  if (gpu.phase == GpuPhase::kAbsent) {
    if (asks_gpu(mode_of(s.compute_request)) || asks_gpu(s.compute))
      notify(NoticeKind::kWarning, Message{"compute.absent"}.with(gpu.problem), {},
             NoticeLife::kOutlives);
    s.compute = ComputeMode::kCpu;
    return;
  }
  if (s.compute_request != ComputeRequest::kAutomatic && !asks_gpu(s.compute)) {
    if (s.compute_request == ComputeRequest::kGpu && test_first()) return;
    s.compute = mode_of(s.compute_request);
  }
  // A software renderer would only make the processor do the same work in a roundabout way.
  const bool may_choose = s.compute_request == ComputeRequest::kAutomatic && !gpu.software;
  if (!may_choose || !options_.background || !start_gpu()) return;
  derived_.gpu.testing = true;
  worker_.request_gpu_test();
}

void ComputingController::distrust(const Message& problem) {
  derived_.gpu.tested = true;
  derived_.gpu.failures = {problem};
  if (session_.compute == ComputeMode::kGpu) session_.compute = ComputeMode::kCpu;
}

void ComputingController::stop_gpu() {
  worker_.stop_gpu();
  derived_.computing = awaits_any();
  derived_.gpu.testing = derived_.sizes.measuring = false;
  make_gpu_ = nullptr;
}

// True when there is one to ask; otherwise the processor computes, and a notice says why.
bool ComputingController::start_gpu() {
  GpuState& gpu = derived_.gpu;
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

std::unique_ptr<Gpu> ComputingController::new_gpu() const {
  return make_gpu_ ? make_gpu_()
                   : std::make_unique<Gpu>(make_egl_compute_context(), watched_options());
}

// The same document goes on with the processor.
void ComputingController::tell_gpu(const GpuState& gpu) {
  session_.compute = ran_mode_ = ComputeMode::kCpu;
  const bool failed = gpu.phase == GpuPhase::kFailed;
  const bool wrong = failed && gpu.tested && !gpu.passed();
  const char* id = wrong ? "compute.turned_wrong" : failed ? "compute.failed" : "compute.absent";
  std::vector<WayOn> ways;
  if (wrong) ways = {look_at_both()};
  notify(failed ? NoticeKind::kError : NoticeKind::kWarning, Message{id}.with(gpu.problem), ways,
         NoticeLife::kOutlives);
}

void ComputingController::take_gpu(FinishedRun& run) {
  ComputingDerived& d = derived_;
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

void ComputingController::take_gpu_test(const GpuState& gpu) {
  ComputingSession& s = session_;
  derived_.gpu = gpu;
  const bool chosen = s.compute_request == ComputeRequest::kAutomatic;
  if (gpu.phase != GpuPhase::kReady) {
    if (asks_gpu(s.compute)) tell_gpu(gpu);
  } else if (!gpu.passed()) {
    if (s.compute != ComputeMode::kBoth) s.compute = ComputeMode::kCpu;
    tell_wrong(gpu);
  } else if ((chosen && !gpu.software) || s.compute_request == ComputeRequest::kGpu) {
    s.compute = ComputeMode::kGpu;
  }
}

}  // namespace headlight
