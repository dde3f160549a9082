// A backend that passes everything on and remembers what its device had to say.
#pragma once

#include "core/backends/backend.h"
#include "core/base/error.h"
#include "core/base/message.h"

namespace headlight {

/// Keeps what a device has to say apart from what is wrong with a document, which Runner turns into
/// words as well.
class GuardedBackend final : public Backend {
 public:
  explicit GuardedBackend(Backend& backend) : backend_(backend) {}
  std::string_view name() const override { return backend_.name(); }
  bool supports(const Program& program, const OpCall& call) const override {
    return backend_.supports(program, call);
  }
  void run(const Program& program, std::span<const OpCall> calls,
           std::span<float* const> memory) override {
    guard([&] { backend_.run(program, calls, memory); });
  }
  void run_backward(const Program& program, std::span<const BackwardCall> calls,
                    std::span<float* const> memory, std::span<float* const> gradients) override {
    guard([&] { backend_.run_backward(program, calls, memory, gradients); });
  }
  bool runs_parts() const override { return backend_.runs_parts(); }
  bool lets_pass() const override { return backend_.lets_pass(); }
  void set_passing(const std::vector<bool>& tensors) override { backend_.set_passing(tensors); }
  RunsAgain runs_again() override { return backend_.runs_again(); }
  bool goes_on() const override { return backend_.goes_on(); }
  void run_more(const Program& program, std::span<const OpCall> calls,
                std::span<float* const> memory) override {
    guard([&] { backend_.run_more(program, calls, memory); });
  }
  void set_constants(std::span<const std::shared_ptr<const Tensor>> tensors) override {
    backend_.set_constants(tensors);
  }
  BlockCount blocks() const override { return backend_.blocks(); }
  /// Of the last call that failed; empty: none has.
  const Message& failure() const { return failure_; }

 private:
  template <class F>
  void guard(const F& work) {
    try {
      work();
    } catch (const Error& error) {
      failure_ = error.message();
      throw;
    }
  }
  Backend& backend_;
  Message failure_;
};

}  // namespace headlight
