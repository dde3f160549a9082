#include "app/workers/gpu.h"

#include "app/gl/compute/kernel_view.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/ops/op.h"

namespace headlight {

Gpu::Gpu(std::unique_ptr<ComputeContext> context, GlBackendOptions options)
    : context_(std::move(context)), options_(std::move(options)) {}

Gpu::~Gpu() = default;

GlBackend& Gpu::backend() {
  if (backend_) return *backend_;
  context_->make_current();
  const GlDevice device = GlDevice::ask(options_.calls ? *options_.calls : real_gl());
  state_.device = device.renderer;
  state_.version = device.version;
  state_.software = is_software_renderer(device.renderer);
  state_.phase = GpuPhase::kAbsent;
  state_.problem = device.problem();
  if (!state_.problem.empty()) throw Error(state_.problem);
  backend_ = make_gl_backend(options_);
  state_.phase = GpuPhase::kReady;
  KernelDevice kernels = KernelDevice::usual();
  kernels.table = backend_->kernel_table();
  kernels.limits = backend_->device().limits;
  if (options_.texts) kernels.texts = options_.texts;
  state_.kernels = std::make_shared<const KernelDevice>(std::move(kernels));
  state_.problem = backend_->tuned_problem();
  return *backend_;
}

void Gpu::use_fresh_storage() {
  GlBackend& gl = backend();
  used_ = 0;
  while (used_ < storages_.size() && *storages_[used_].shown) ++used_;
  if (used_ == storages_.size()) storages_.push_back({std::make_unique<GlStorage>(gl.calls())});
  gl.use(storages_[used_].tensors.get());
}

std::shared_ptr<const DeviceCells> Gpu::device_cells(const Trace& trace) {
  backend().use(nullptr);  // tests and measurements must not write over what is shown
  if (!context_->shares_with_window() || used_ >= storages_.size()) return nullptr;
  const Program& program = trace.program();
  const GlStorage& at = *storages_[used_].tensors;
  auto cells = std::make_shared<DeviceCells>();
  const auto add = [&](TensorId tensor, unsigned buffer) {
    const TensorView view = trace.tensor(tensor);
    // A picture of blocks of cells tells NaN and +inf only from memory.
    if (buffer == 0 || !view.data || trace.range(tensor).broken > 0) return;
    cells->add({view.data, view.size(), buffer});
  };
  for (const OpCall& call : program.calls) {
    const auto out = static_cast<std::size_t>(program.resolve(call.out));
    const bool passed = !trace.stays(call.out);  // others lie in its buffer by now
    if (!passed && at.tensors.has(out)) add(call.out, at.tensors.buffer(out));
    const TensorId d = program.gradient(call.out);
    if (d < 0 || out >= at.gradient_slots.size()) continue;
    const std::size_t slot = at.gradient_slots[out];
    if (at.gradients.has(slot)) add(d, at.gradients.buffer(slot));
  }
  cells->sort();
  const std::shared_ptr<std::atomic<bool>> shown = storages_[used_].shown;
  *shown = true;
  cells->keep = std::shared_ptr<const void>(shown.get(), [shown](const void*) { *shown = false; });
  // Another context reads them.
  const GlCalls& gl = backend().calls();
  gl.memory_barrier(GL_PIXEL_BUFFER_BARRIER_BIT | GL_TEXTURE_FETCH_BARRIER_BIT);
  gl.finish();
  return cells;
}

void Gpu::stop() {
  if (backend_) backend_->use(nullptr);
  test_.reset();
  storages_.clear();
  backend_.reset();
  context_->release();
}

std::filesystem::path Gpu::test_folder() const {
  return options_.program_folder.empty() ? "" : default_self_test_folder();
}

bool Gpu::test_some() {
  if (state_.tested) return false;
  GlBackend& gl = backend();
  if (!test_) test_ = std::make_unique<GlSelfTestRun>(gl, test_folder());
  test_->step();
  if (!test_->is_done()) return true;
  take_test(test_->result());
  test_.reset();
  return false;
}

void Gpu::take_test(const GlSelfTest& result) {
  state_.tested = true;
  state_.failures.clear();
  const auto add = [&](const Message& what, const auto& failure) {
    const Message numbers{
        "compute.wrong_by",
        {{"error", number_text(failure.error, 2)}, {"limit", number_text(failure.limit, 2)}}};
    state_.failures.push_back(what.with(failure.message.empty() ? numbers : failure.message));
  };
  for (const GlSelfTestFailure& failure : result.failures) {
    add(Message{failure.backward ? "compute.wrong_backward" : "compute.wrong",
                {{"op", std::string(op_info(failure.op).id)}, {"shape", failure.shape}}},
        failure);
  }
  for (const GlTrainingFailure& failure : result.training)
    add(Message{"compute.wrong_training", {{"optimizer", std::string(word(failure.optimizer))}}},
        failure);
}

void Gpu::fail(const Message& problem) {
  const bool worked = state_.phase == GpuPhase::kReady;
  if (backend_ && backend_->wrong())
    take_test(keep_wrong(*backend_, *backend_->wrong(), test_folder()));
  stop();
  state_.phase = worked ? GpuPhase::kFailed : GpuPhase::kAbsent;
  state_.problem = problem;
}

const GpuState& Gpu::state() {
  if (backend_ && backend_->fallbacks().size() != state_.fallbacks.size()) {
    state_.fallbacks.clear();
    for (const GlFallback& one : backend_->fallbacks())
      state_.fallbacks.push_back({std::string(op_info(one.op).id), one.shape});
  }
  return state_;
}

}  // namespace headlight
