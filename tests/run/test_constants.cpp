// A backend is told which tensors nobody writes to, so that it need not look at them again.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/run/runner.h"

namespace headlight::test_constants {
namespace {

using Constants = std::vector<std::shared_ptr<const Tensor>>;

// Looks for every parameter that a call reads among the constants.
class Listening final : public Backend {
 public:
  std::string_view name() const override { return "listening"; }
  bool supports(const Program&, const OpCall&) const override { return true; }
  void run(const Program& program, std::span<const OpCall> calls,
           std::span<float* const> memory) override {
    for (const OpCall& call : calls) {
      for (const TensorId id : call.in) {
        const std::size_t at = place(program.resolve(id));
        if (program.tensors[at].kind != TensorKind::kParameter) continue;
        ++read;
        const bool told = at < constants.size() && constants[at];
        if (!told || constants[at]->data.data() != memory[at]) ++untold;
      }
    }
    inner_->run(program, calls, memory);
  }
  void run_backward(const Program& program, std::span<const BackwardCall> calls,
                    std::span<float* const> memory, std::span<float* const> gradients) override {
    inner_->run_backward(program, calls, memory, gradients);
  }
  void set_constants(std::span<const std::shared_ptr<const Tensor>> tensors) override {
    constants.assign(tensors.begin(), tensors.end());
  }

  Constants constants;
  int read = 0, untold = 0;

 private:
  std::unique_ptr<Backend> inner_ = make_cpu_backend(1);
};

}  // namespace

TEST_CASE("runner: the backend is told all parameters, which stay what they are at a keystroke") {
  Runner runner;
  Listening backend;
  const auto run = [&](const std::string& text, const std::string& model, bool gradients) {
    Document doc = apply(Document{}, SetSentence{text});
    doc.model = model;
    const RunResult result = runner.run(doc, backend, nullptr, gradients);
    REQUIRE_MESSAGE(result.trace, result.problem);
    return result.trace;
  };
  // The model of dates writes its row token by token.
  for (const std::string model : {"", "bundled:dates"}) {
    for (const bool gradients : {false, true}) {
      CAPTURE(model);
      backend.read = 0;
      const auto before = run("may 1 199", model, gradients);
      const Constants first = backend.constants;
      const auto after = run("may 1 1999", model, gradients);
      CHECK(backend.read > 30);
      CHECK(backend.untold == 0);
      int same = 0;
      for (std::size_t id = 0; id < first.size(); ++id)
        same += first[id] && first[id] == backend.constants[id];
      CHECK(same > 20);  // all but the sandbox's rows for tokens
    }
  }
}

}  // namespace headlight::test_constants
