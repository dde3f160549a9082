#include <algorithm>
#include <array>

#include "core/backends/backend.h"
#include "core/base/error.h"

namespace headlight {
namespace {

class ReferenceBackend final : public Backend {
 public:
  std::string_view name() const override { return "reference"; }
  bool supports(const Program&, const OpCall&) const override { return true; }
  bool runs_parts() const override { return true; }

  void run(const Program& program, std::span<const OpCall> calls,
           std::span<float* const> memory) override {
    for (const OpCall& call : calls) {
      const Tensors t(program, call, memory);
      op_info(call.op).forward({t.inputs(), t.out, call.params, memory[call.out]});
    }
  }

  void run_backward(const Program& program, std::span<const BackwardCall> calls,
                    std::span<float* const> memory, std::span<float* const> gradients) override {
    for (const BackwardCall& step : calls) {
      const OpCall& call = program.calls[static_cast<std::size_t>(step.call)];
      const Tensors t(program, call, memory);
      std::array<float*, 4> d_in{};
      for (std::size_t i = 0; i < call.in.size(); ++i) {
        if (step.uses[i] == GradientUse::kNone) continue;
        d_in[i] = gradients[call.in[i]];
        if (step.uses[i] == GradientUse::kWritten) std::fill_n(d_in[i], t.in[i].size(), 0.0f);
      }
      op_info(call.op).backward(
          {t.inputs(), t.out, call.params, gradients[call.out], {d_in.data(), call.in.size()}});
    }
  }

 private:
  struct Tensors {
    Tensors(const Program& program, const OpCall& call, std::span<float* const> memory)
        : count(call.in.size()), out(program.look(call.out)) {
      for (std::size_t i = 0; i < count; ++i) {
        in[i] = program.look(call.in[i]);
        in[i].data = memory[call.in[i]];
      }
      out.data = memory[call.out];
    }
    std::span<const TensorView> inputs() const { return {in.data(), count}; }
    std::array<TensorView, 4> in;
    std::size_t count;
    TensorView out;
  };
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

std::unique_ptr<Backend> make_backend(std::string_view name, int threads) {
  if (name == "reference") return make_reference_backend();
  if (name == "cpu") return make_cpu_backend(threads);
  throw UsageError("there is no backend named '" + std::string(name) +
                   "'; choose reference or cpu");
}

}  // namespace headlight
