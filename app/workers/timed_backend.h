// A backend that passes everything on and measures each call.
#pragma once

#include <optional>

#include "app/ui/state/compute_state.h"
#include "core/backends/backend.h"
#include "core/base/message.h"

namespace headlight {

class GlQueue;

class TimedBackend final : public Backend {
 public:
  /// `queue`: that of the graphics card's backend, whose kernels are then timed; null: the calls
  /// are run one by one, and the clock is looked at.
  explicit TimedBackend(Backend& backend, GlQueue* queue = nullptr);
  ~TimedBackend() override;

  std::string_view name() const override { return backend_.name(); }
  bool supports(const Program&, const OpCall&) const override;
  void run(const Program&, std::span<const OpCall>, std::span<float* const> memory) override;
  bool lets_pass() const override { return backend_.lets_pass(); }
  void set_passing(const std::vector<bool>& tensors) override { backend_.set_passing(tensors); }
  RunsAgain runs_again() override { return backend_.runs_again(); }
  bool goes_on() const override { return backend_.goes_on(); }
  void run_more(const Program&, std::span<const OpCall>, std::span<float* const> memory) override;
  void run_backward(const Program&, std::span<const BackwardCall>, std::span<float* const> memory,
                    std::span<float* const> gradients) override;
  void set_constants(std::span<const std::shared_ptr<const Tensor>> tensors) override {
    backend_.set_constants(tensors);
  }
  BlockCount blocks() const override { return backend_.blocks(); }
  /// Of the last run that began with the program's first call, and of what was run of it since.
  const CallTimes& times() const { return times_; }

 private:
  template <class Run>
  void measure(const Program&, std::span<const OpCall>, const Run&);

  Backend& backend_;
  GlQueue* queue_;
  CallTimes times_;
};

}  // namespace headlight
