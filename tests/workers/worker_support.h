// What the tests of what runs in the background share: a shell as a window has it, whose runs wait
// at a gate and fail when they are told to.
#pragma once

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "app/shell/shell.h"
#include "tests/support/gate.h"

namespace headlight::test {

enum class Fault { kNone, kMemory, kBug, kNumber };

/// The processor's backend, whose whole runs on other threads than the one that made this wait at
/// a gate, and on any thread fail as `fault` says.
class SlowBackend final : public Backend {
 public:
  SlowBackend(Gate& gate, std::atomic<Fault>& fault)
      : gate_(gate), fault_(fault), window_(std::this_thread::get_id()) {}
  std::string_view name() const override { return real_->name(); }
  bool supports(const Program& program, const OpCall& call) const override {
    return real_->supports(program, call);
  }
  void run(const Program& program, std::span<const OpCall> calls,
           std::span<float* const> memory) override {
    const bool whole = calls.size() == program.calls.size();
    if (whole && std::this_thread::get_id() != window_) gate_.pass();
    if (fault_ == Fault::kMemory) throw std::bad_alloc();
    if (fault_ == Fault::kBug) throw std::logic_error("a planted bug");
    if (fault_ == Fault::kNumber) throw 42;
    real_->run(program, calls, memory);
  }
  void run_backward(const Program& program, std::span<const BackwardCall> calls,
                    std::span<float* const> memory, std::span<float* const> gradients) override {
    real_->run_backward(program, calls, memory, gradients);
  }

 private:
  Gate& gate_;
  std::atomic<Fault>& fault_;
  const std::thread::id window_;
  const std::unique_ptr<Backend> real_ = make_backend("cpu", 1);
};

/// As the window has it: large runs go to another thread.
inline ShellOptions slow_options(Gate& gate, std::atomic<Fault>& fault) {
  ShellOptions options;
  options.threads = options.train_threads = 1;
  options.make_backend = [&] { return std::make_unique<SlowBackend>(gate, fault); };
  return options;
}

/// Frame after frame until `done`, at most for some seconds; was it?
inline bool frames_until(Shell& shell, const std::function<bool()>& done) {
  for (int i = 0; i < 20000; ++i) {
    shell.poll();
    shell.apply();
    if (done()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

inline void push(Shell& shell, Action action) {
  shell.push(std::move(action));
  shell.apply();
}

/// So many words that their run is one for the background.
inline Document long_document(int words = 600) {
  Document document;
  document.config.layers = 1;
  document.config.heads = 2;
  document.config.d_model = 8;
  document.max_tokens = 1000;
  for (int i = 0; i < words; ++i) document.sentence += "some ";
  return document;
}

inline std::string notices_of(const Shell& shell) {
  std::string all;
  for (const Notice& notice : shell.state().notices) all += notice.text + "\n";
  return all;
}

}  // namespace headlight::test
