// The backends that stand before another one pass on all that a runner says to it: without the
// constants a graphics card would look at every weight again in each run.
#include <doctest/doctest.h>

#include "app/workers/guarded_backend.h"
#include "app/workers/timed_backend.h"

namespace headlight::test::test_passed_on {
namespace {

class Listening final : public Backend {
 public:
  std::string_view name() const override { return "listening"; }
  bool supports(const Program&, const OpCall&) const override { return true; }
  void run(const Program&, std::span<const OpCall>, std::span<float* const>) override {}
  void run_backward(const Program&, std::span<const BackwardCall>, std::span<float* const>,
                    std::span<float* const>) override {}
  void set_constants(std::span<const std::shared_ptr<const Tensor>> tensors) override {
    constants.assign(tensors.begin(), tensors.end());
  }
  BlockCount blocks() const override { return {3, 4}; }
  bool goes_on() const override { return true; }
  bool lets_pass() const override { return true; }
  void set_passing(const std::vector<bool>& tensors) override { passing = tensors; }
  RunsAgain runs_again() override {
    return [](const Program&, std::span<const OpCall>, std::span<float* const>) { return true; };
  }
  void run_more(const Program&, std::span<const OpCall> calls, std::span<float* const>) override {
    more += calls.size();
  }
  std::size_t more = 0;  // calls
  std::vector<bool> passing;
  std::vector<std::shared_ptr<const Tensor>> constants;
};

}  // namespace

TEST_CASE("workers: backends that guard and measure pass on which tensors are constant") {
  const std::vector<std::shared_ptr<const Tensor>> weights = {std::make_shared<const Tensor>()};
  Listening end;
  TimedBackend timed(end);
  GuardedBackend guarded(timed);
  guarded.set_constants(weights);
  CHECK(end.constants == weights);
  CHECK(guarded.blocks().computed == 3);
}

TEST_CASE("workers: backends that guard and measure pass on which tensors pass") {
  Listening end;
  TimedBackend timed(end);
  GuardedBackend guarded(timed);
  CHECK(guarded.lets_pass());
  CHECK(guarded.runs_again()({}, {}, {}));
  guarded.set_passing({false, true});
  CHECK(end.passing == std::vector<bool>{false, true});
}

TEST_CASE("workers: backends that guard and measure let a run go on in pieces") {
  Listening end;
  TimedBackend timed(end);
  GuardedBackend guarded(timed);
  Program program;
  program.calls.resize(3);
  for (int i = 0; i < 3; ++i) program.calls[static_cast<std::size_t>(i)].out = i;
  const std::span<const OpCall> calls = program.calls;
  CHECK(guarded.goes_on());
  guarded.run(program, calls.first(1), {});
  guarded.run_more(program, calls.subspan(1), {});
  CHECK(end.more == 2);
  CHECK(timed.times().forward.size() == 3);  // those of one run
  guarded.run(program, calls.first(1), {});
  CHECK(timed.times().forward.size() == 1);
}

}  // namespace headlight::test::test_passed_on
