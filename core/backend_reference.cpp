#include <array>

#include "core/backend.h"
#include "core/error.h"

namespace headlight {
namespace {

class ReferenceBackend final : public Backend {
 public:
  std::string_view name() const override { return "reference"; }
  bool supports(const Program&, const OpCall&) const override { return true; }

  void run(const Program& program, std::span<const OpCall> calls,
           std::span<float* const> memory) override {
    for (const OpCall& call : calls) {
      std::array<TensorView, 4> in;
      for (std::size_t i = 0; i < call.in.size(); ++i) {
        in[i] = program.look(call.in[i]);
        in[i].data = memory[call.in[i]];
      }
      TensorView out = program.look(call.out);
      out.data = memory[call.out];
      op_info(call.op).forward({{in.data(), call.in.size()}, out, call.params, memory[call.out]});
    }
  }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

std::unique_ptr<Backend> make_backend(std::string_view name, int threads) {
  if (name == "reference") return make_reference_backend();
  if (name == "eigen") return make_eigen_backend(threads);
  throw UsageError("there is no backend named '" + std::string(name) +
                   "'; choose reference or eigen");
}

}  // namespace headlight
