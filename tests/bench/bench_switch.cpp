#include "tests/bench/bench_switch.h"

#include <algorithm>
#include <chrono>

#include "app/shell/shell.h"
#include "core/base/error.h"
#include "tests/bench/median.h"

namespace headlight {
namespace {

constexpr int kTurns = 5;

/// A window without a window: what it shows, and who computes it.
class Switch {
 public:
  Switch(const SwitchModel& model, int threads) : shell_(document_of(model), options_of(threads)) {
    shell_.wait();
    need_trace();
  }

  // Milliseconds.
  double to(ComputeMode mode) {
    const auto start = std::chrono::steady_clock::now();
    shell_.push(ChooseCompute{mode});
    shell_.apply();
    shell_.wait();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    need_trace();
    const Derived& d = shell_.state().derived;
    if (shell_.state().session.compute != mode || d.gpu.phase == GpuPhase::kFailed)
      throw Error(d.gpu.problem.empty() ? Message{"compute.absent"} : d.gpu.problem);
    return took.count();
  }

  std::string device() const {
    const GpuState& gpu = shell_.state().derived.gpu;
    return gpu.device + ", OpenGL " + gpu.version;
  }

 private:
  static Document document_of(const SwitchModel& model) {
    Document document;
    document.sentence.clear();
    for (int i = 0; i < model.tokens; ++i) document.sentence += i % 3 == 0 ? "the " : "cat ";
    document.config.layers = model.layers;
    document.config.d_model = model.d_model;
    document.config.heads = model.heads;
    validate(document.config);
    return document;
  }
  static ShellOptions options_of(int threads) {
    ShellOptions options;
    options.limits = machine_limits();
    options.threads = threads;
    return options;
  }
  void need_trace() const {
    const Derived& d = shell_.state().derived;
    if (!d.trace) throw Error(d.message);
  }

  Shell shell_;
};

}  // namespace

void bench_switch(const SwitchModel& model, int threads,
                  const std::function<void(const BenchRow&)>& row) {
  Switch window(model, threads);
  const double first = window.to(ComputeMode::kGpu);
  row({"CPU to GPU, the first time", first, "ms", 0, window.device()});
  std::vector<double> to_gpu, to_cpu, to_both;
  for (int i = 0; i < kTurns; ++i) {
    to_cpu.push_back(window.to(ComputeMode::kCpu));
    to_gpu.push_back(window.to(ComputeMode::kGpu));
  }
  row({"GPU to CPU", median(to_cpu), "ms", 1000, "at most"});
  row({"CPU to GPU, from the second time on", median(to_gpu), "ms", 1000, "at most"});
  for (int i = 0; i < kTurns; ++i) {
    to_both.push_back(window.to(ComputeMode::kBoth));
    window.to(ComputeMode::kCpu);
  }
  row({"CPU to both, one after the other", median(to_both), "ms", 0, "both are run and compared"});
}

}  // namespace headlight
