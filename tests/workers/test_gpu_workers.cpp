// The workers and the graphics card, which is the strict stand-in for OpenGL here: all of it on one
// thread, buffers that are handed back, a card that is lost while it trains.
#include "app/workers/gpu.h"
#include "tests/gl/mock/test_gl_mock_support.h"
#include "tests/workers/worker_support.h"

namespace headlight::test::test_gpu_workers {
namespace {

// A context that is current on one thread, and says so where it is used on another.
class OneThreadContext final : public ComputeContext {
 public:
  void make_current() override {
    if (thread_ == std::thread::id{}) thread_ = std::this_thread::get_id();
    check();
  }
  void release() override {
    check();
    thread_ = {};
  }
  bool shares_with_window() const override { return true; }

 private:
  void check() const {
    if (thread_ != std::this_thread::get_id()) throw std::logic_error("a context changed threads");
  }
  std::thread::id thread_;
};

std::unique_ptr<Gpu> make_gpu(const GlBackendOptions& options) {
  return std::make_unique<Gpu>(std::make_unique<OneThreadContext>(), options);
}

// The card that stands for one computes nothing, and would not pass the test of a window.
std::unique_ptr<Gpu> trusted_gpu(const GlBackendOptions& options) {
  std::unique_ptr<Gpu> gpu = make_gpu(options);
  gpu->trust();
  return gpu;
}

// The calls of OpenGL have no room for anything of the test's own.
std::atomic<bool> g_lost = false, g_throws = false;

GlCalls failing_calls(const StrictGl& gl) {
  GlCalls calls = gl.calls();
  calls.get_graphics_reset_status = [] {
    if (g_throws.exchange(false)) throw std::bad_alloc();
    return g_lost ? GLenum{GL_INNOCENT_CONTEXT_RESET} : GLenum{GL_NO_ERROR};
  };
  return calls;
}

RunPlan small_plan() {
  RunPlan plan = default_plan("induction");
  plan.config.layers = 1;
  plan.config.heads = 2;
  plan.config.d_model = 8;
  plan.settings.batch = 2;
  plan.stop.steps = plan.settings.schedule.steps = 100000;
  return plan;
}

// Looks all the time, as a window does, until it is so, at most for some seconds.
bool looks_until(TrainWorker& worker, RunView& view, const std::function<bool()>& done) {
  const auto began = std::chrono::steady_clock::now();
  while (!done()) {
    worker.update(view);
    if (std::chrono::steady_clock::now() - began > std::chrono::seconds(20)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("train worker: a run whose graphics card is lost ends as failed, whenever one looks") {
  for (int round = 0; round < 10; ++round) {
    StrictGl gl;
    const GlCalls calls = failing_calls(gl);
    GlBackendOptions options = strict_options(gl);
    options.calls = &calls;
    g_lost = false;
    TrainWorker worker(1);
    worker.use_gpu(make_gpu(options));
    worker.start(small_plan(), true);
    worker.play();
    RunView view;
    REQUIRE(looks_until(worker, view, [&] { return view.status.step > 0; }));
    CHECK_FALSE(view.status.device.empty());
    g_lost = true;
    CHECK(looks_until(worker, view, [&] { return view.status.phase != TrainPhase::kRunning; }));
    CHECK(view.status.phase == TrainPhase::kFailed);
    CHECK(view.status.device.empty());
    CHECK_FALSE(view.status.problem.empty());
    worker.wait();
    CHECK_FALSE(worker.update(view));  // that was the last there is to see
    g_lost = false;
  }
}

TEST_CASE("train worker: what is no error of the device is one, too, and the processor goes on") {
  StrictGl gl;
  const GlCalls calls = failing_calls(gl);
  GlBackendOptions options = strict_options(gl);
  options.calls = &calls;
  TrainWorker worker(1);
  worker.use_gpu(make_gpu(options));
  worker.start(small_plan(), true);
  worker.play(3);
  worker.wait();
  RunView view;
  worker.update(view);
  REQUIRE(view.status.step == 3);
  REQUIRE_FALSE(view.status.device.empty());
  g_throws = true;
  worker.play(6);
  worker.wait();
  worker.update(view);
  CHECK_FALSE(g_throws);
  CHECK(view.status.step == 6);
  CHECK(view.status.device.empty());
  CHECK(view.status.gpu_problem.id == "error.no_memory");
}

TEST_CASE("trace worker: pictures keep their buffers, and hand them back wherever they end") {
  StrictGl gl;
  {
    Gate gate;
    std::atomic<Fault> fault = Fault::kNone;
    ShellOptions window = slow_options(gate, fault);
    window.compute = ComputeMode::kGpu;
    window.make_gpu = [&] { return trusted_gpu(strict_options(gl)); };
    Shell shell(long_document(5), window);
    const auto settled = [&] { return !shell.is_working(); };
    REQUIRE(frames_until(shell, settled));
    REQUIRE(shell.state().derived.trace->backend() == "gl");
    std::size_t buffers = 0;
    std::shared_ptr<const DeviceCells> old;
    for (int i = 0; i < 12; ++i) {
      Config config = shell.state().document().config;
      ++config.seed;
      push(shell, DoEdit{SetConfig{config}, ""});
      REQUIRE(frames_until(shell, settled));
      const auto now = shell.state().derived.device_cells;
      REQUIRE(now);
      REQUIRE_FALSE(now->stretches.empty());
      if (old) {
        for (const auto& mine : now->stretches)
          for (const auto& theirs : old->stretches) CHECK(mine.buffer != theirs.buffer);
      }
      if (i == 3) old = now;
      // Who looks at pictures may let go of them on any thread.
      if (i == 6) std::thread([kept = std::exchange(old, nullptr)] {}).join();
      if (i == 7) buffers = gl.buffers();
    }
    CHECK(gl.buffers() == buffers);
    push(shell, MeasureSizes{true});
    REQUIRE(frames_until(shell, [&] { return shell.state().derived.sizes.points.size() > 1; }));
    push(shell, MeasureSizes{false});
    CHECK_FALSE(shell.state().derived.sizes.measuring);
    shell.stop_gpu();
    CHECK_FALSE(shell.is_working());
    CHECK(notices_of(shell).find("changed threads") == std::string::npos);
  }
  check_nothing_left(gl);
}

TEST_CASE("trace worker: a card that is lost gives the run to the processor, whoever asked last") {
  StrictGl gl;
  const GlCalls calls = failing_calls(gl);
  GlBackendOptions options = strict_options(gl);
  options.calls = &calls;
  Gate gate;
  std::atomic<Fault> fault = Fault::kNone;
  ShellOptions window = slow_options(gate, fault);
  window.compute = ComputeMode::kGpu;
  window.make_gpu = [&] { return trusted_gpu(options); };
  Shell shell(long_document(5), window);
  const auto settled = [&] { return !shell.is_working(); };
  REQUIRE(frames_until(shell, settled));
  REQUIRE(shell.state().derived.trace->backend() == "gl");
  g_lost = true;
  for (int i = 0; i < 5; ++i) {
    Config config = shell.state().document().config;
    ++config.seed;
    push(shell, DoEdit{SetConfig{config}, ""});
  }
  REQUIRE(frames_until(shell, settled));
  g_lost = false;
  CHECK(shell.state().derived.gpu.phase == GpuPhase::kFailed);
  CHECK(shell.state().session.compute == ComputeMode::kCpu);
  CHECK(shell.state().derived.trace->backend() == "cpu");
  CHECK(shell.state().derived.trace->config() == shell.state().document().config);
  CHECK_FALSE(notices_of(shell).empty());
  shell.stop_gpu();
}

}  // namespace headlight::test::test_gpu_workers
