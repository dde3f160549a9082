// Two backends side by side: what differs, by how much, and where it begins.
#include "core/check/compare.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/run/runner.h"

namespace headlight::test_compare {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The reference backend with one mistake: a cell of one call's output, or of a gradient, is moved.
class Mistaken final : public Backend {
 public:
  std::string tensor;
  bool backward = false;
  std::string_view name() const override { return "mistaken"; }
  bool supports(const Program&, const OpCall&) const override { return true; }
  void run(const Program& program, std::span<const OpCall> calls,
           std::span<float* const> memory) override {
    for (const OpCall& call : calls) {
      right_->run(program, std::span(&call, 1), memory);
      if (!backward && program.tensors[static_cast<std::size_t>(call.out)].name == tensor)
        memory[static_cast<std::size_t>(call.out)][1] += 0.25f;
    }
  }
  void run_backward(const Program& program, std::span<const BackwardCall> calls,
                    std::span<float* const> memory, std::span<float* const> gradients) override {
    for (const BackwardCall& call : calls) {
      right_->run_backward(program, std::span(&call, 1), memory, gradients);
      const OpCall& forward = program.calls[static_cast<std::size_t>(call.call)];
      if (backward && program.tensors[static_cast<std::size_t>(forward.in[0])].name == tensor)
        gradients[static_cast<std::size_t>(forward.in[0])][1] += 0.25f;
    }
  }

 private:
  std::unique_ptr<Backend> right_ = make_reference_backend();
};

std::shared_ptr<const Trace> traced(Runner& runner, Backend& backend, const char* text = "a b c") {
  Document d;
  d.sentence = text;
  d.config.d_model = 8;
  d.config.heads = 2;
  d.config.layers = 1;
  return runner.run(d, backend, nullptr, true).trace;
}

}  // namespace

TEST_CASE("compare: the difference of cells, where it is, and what is no number") {
  const float a[] = {3, 4, -kInf, kNan}, b[] = {3, 4.5f, -kInf, kNan}, c[] = {3, 4, 0, kNan};
  const CellDifference off = difference(b, a);
  CHECK(off.largest == 0.5);
  CHECK(off.place == 1);
  CHECK(off.error == doctest::Approx(0.25 / 25));
  CHECK(difference(a, a).place == -1);
  CHECK(difference(a, a).error == 0);
  CHECK(difference(c, a).place == 2);
  CHECK(std::isinf(difference(c, a).error));
  CHECK(difference(b, a, 10).error == doctest::Approx(0.25 / 400));
}

TEST_CASE("compare: cpu is within its limits, forwards and backwards") {
  Runner runner;
  const auto reference = make_reference_backend(), cpu = make_cpu_backend(1);
  const auto expected = traced(runner, *reference), got = traced(runner, *cpu);
  const Comparison all = compare_traces(*got, *expected);
  CHECK_FALSE(all.first_beyond);
  const Program& program = expected->program();
  std::size_t backward = 0, gradients = 0;
  for (const CallDifference& d : all.calls) backward += d.backward;
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    const auto tensor = static_cast<TensorId>(id);
    gradients += program.gradient(tensor) >= 0 && program.resolve(tensor) == tensor &&
                 tensor != program.loss;
  }
  CHECK(all.calls.size() - backward == program.calls.size());
  CHECK(backward > 20);
  CHECK(backward <= gradients);
}

TEST_CASE("compare: no more is asked of a result than of what it was made from") {
  Runner runner;
  const auto reference = make_reference_backend(), cpu = make_cpu_backend(1);
  const auto expected = traced(runner, *reference), got = traced(runner, *cpu);
  const Comparison all = compare_traces(*got, *expected);
  const Program& program = expected->program();
  std::vector<double> limits(program.tensors.size());
  for (const CallDifference& d : all.calls) {
    const OpCall& call = program.calls[place(d.call)];
    double asked = ErrorLimits{}.of(call.op);
    if (d.backward) asked = ErrorLimits{}.rows;  // every gradient is made from that of the loss
    for (const TensorId in : call.in) asked = std::max(asked, limits[place(program.resolve(in))]);
    CHECK(d.limit == asked);
    if (!d.backward) limits[place(call.out)] = d.limit;
  }
}

TEST_CASE("compare: of numbers that nearly cancel the errors that they bring are allowed") {
  const OpInfo& penalty = op_info(Op::kFociPenalty);
  const float near[] = {1.001f, 0.001f, 0.001f, 1.001f}, far[] = {3, 4, 0, 1};
  const std::vector<Axis> axes = {{"batch", 1}, {"head", 1}, {"focus", 2}, {"focus", 2}};
  const auto growth = [&](const float* cells) {
    const TensorView overlap{{}, axes, cells};
    return penalty.error_growth({{&overlap, 1}, {}, OpParams{}});
  };
  CHECK(growth(near) == doctest::Approx(2 * std::sqrt(2 * 1.001 * 1.001) / 0.002).epsilon(1e-3));
  CHECK(growth(far) == doctest::Approx(2 * std::sqrt(26.0) / std::sqrt(4.0 + 16)));
  // In a run: what is left of the overlap may be as far off as that, and no more.
  Document d;
  d.sentence = "a b c";
  d.config.d_model = 8;
  d.config.heads = 2;
  d.config.form = ModelForm::kClasses;
  d.config.pool = PoolKind::kFoci;
  d.config.foci = 2;
  d.config.foci_penalty = 1;
  Runner runner;
  const auto reference = make_reference_backend(), cpu = make_cpu_backend(1);
  const auto expected = runner.run(d, *reference, nullptr, true).trace,
             got = runner.run(d, *cpu, nullptr, true).trace;
  REQUIRE(expected);
  CHECK_FALSE(compare_traces(*got, *expected).first_beyond);
  Mistaken mistaken;
  mistaken.tensor = "pool.overlap";
  mistaken.backward = true;
  const auto wrong = runner.run(d, mistaken, nullptr, true).trace;
  REQUIRE(wrong);
  const Comparison found = compare_traces(*wrong, *expected);
  REQUIRE(found.first_beyond);
  CHECK(expected->tensor(found.calls[*found.first_beyond].tensor).name == "d.pool.overlap");
}

TEST_CASE("compare: gradients whose terms nearly cancel may be as far off as that leaves them") {
  Runner runner;
  const auto reference = make_reference_backend(), cpu = make_cpu_backend(1);
  Document d;
  d.config.numbers = true;
  int allowed = 0, seen = 0;
  for (const char* text :
       {"-0.50 0.20 0.80", "-0.50 0.16 0.80 -0.28 0.16", "0.90 0.88 0.90 0.92"}) {
    d.sentence = text;
    const auto expected = runner.run(d, *reference, nullptr, true).trace,
               got = runner.run(d, *cpu, nullptr, true).trace;
    REQUIRE(expected);
    const Comparison all = compare_traces(*got, *expected);
    CHECK_FALSE(all.first_beyond);
    for (const CallDifference& call : all.calls) {
      ++seen;
      allowed += call.limit > ErrorLimits{}.rows;
      CHECK(call.limit < 1e-6);
    }
    // What is wrong is still found.
    Mistaken mistaken;
    mistaken.tensor = "blocks.1.attn.scores_masked";
    mistaken.backward = true;
    const auto wrong = runner.run(d, mistaken, nullptr, true).trace;
    REQUIRE(compare_traces(*wrong, *expected).first_beyond);
  }
  CHECK(allowed > 0);
  CHECK(allowed < seen / 2);  // what is made of such gradients is allowed as much
}

TEST_CASE("compare: the first that is wrong is named, not what follows from it") {
  Runner runner;
  const auto reference = make_reference_backend();
  const auto expected = traced(runner, *reference);
  for (const char* name : {"embed", "blocks.0.attn.pattern", "blocks.0.mlp.post", "logits"}) {
    for (const bool backward : {false, true}) {
      CAPTURE(name);
      CAPTURE(backward);
      if (backward && std::string(name) == "embed") continue;  // added to, not read by one call
      Mistaken mistaken;
      mistaken.tensor = name;
      mistaken.backward = backward;
      const Comparison all = compare_traces(*traced(runner, mistaken), *expected);
      REQUIRE(all.first_beyond);
      const CallDifference& first = all.calls[*all.first_beyond];
      CHECK(first.backward == backward);
      CHECK(expected->tensor(first.tensor).name == (backward ? "d." : "") + std::string(name));
      CHECK(first.cells.largest == doctest::Approx(0.25));
      CHECK(first.index.back() == 1);
    }
  }
}

TEST_CASE("compare: runs of different tokens are refused") {
  Runner runner;
  const auto backend = make_reference_backend();
  const auto one = traced(runner, *backend), two = traced(runner, *backend, "a b a");
  CHECK_THROWS_AS(compare_traces(*one, *two), UsageError);
}

TEST_CASE("compare: of runs that keep little, one layer is there at a time") {
  RunLimits limits;
  limits.keep_all_to = 0;
  Document d;
  d.sentence = "a b c";
  d.config.layers = 6;
  Runner first(limits), second(limits), third;
  const auto cpu = make_cpu_backend(1), reference = make_reference_backend();
  const auto got = first.run(d, *cpu).trace, expected = second.run(d, *reference).trace;
  const auto whole = third.run(d, *reference).trace;
  REQUIRE(got);
  REQUIRE(expected);
  const Comparison comparison = compare_traces(*got, *expected);
  CHECK(comparison.calls.size() == got->program().calls.size());
  CHECK_FALSE(comparison.first_beyond);
  CHECK(got->memory().again <= got->memory().shared);
  CHECK(expected->memory().again <= expected->memory().shared);
  const Comparison all = compare_traces(*got, *whole);
  for (std::size_t i = 0; i < all.calls.size(); ++i)
    CHECK(all.calls[i].cells.error == comparison.calls[i].cells.error);
}

}  // namespace headlight::test_compare
