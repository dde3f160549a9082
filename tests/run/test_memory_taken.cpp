// What is said before a run, and what the run really takes.
#include <doctest/doctest.h>

#include "core/autodiff/backward.h"
#include "core/graph/program_cost.h"
#include "core/model/presets.h"
#include "core/run/runner.h"
#include "core/train/metrics/model_cost.h"
#include "tests/run/kinds_of_models.h"

namespace headlight::test_memory_taken {
namespace {

TEST_CASE("cost: twelve kinds of model take the memory that was said, to within 5 %") {
  for (const auto& kind : kinds_of_models()) {
    const auto& name = kind.first;
    const Document& document = kind.second;
    Runner runner;
    const auto backend = make_backend("cpu", 2);
    const auto result = runner.run(document, *backend);
    REQUIRE_MESSAGE(result.trace, name << ": " << result.problem);
    const Trace& trace = *result.trace;
    const TraceMemory real = trace.memory();
    const ProgramCost cost = program_cost(trace.config(), trace.program().shape);
    CAPTURE(name);
    CHECK(real.arena == doctest::Approx(cost.arena_bytes()).epsilon(0.05));
    CHECK(real.parameters == doctest::Approx(cost.parameter_bytes()).epsilon(0.05));
    CHECK(real.run() == doctest::Approx(cost.run_bytes()).epsilon(0.05));
    CHECK(real.gradients == 0);
  }
}

TEST_CASE("cost: a smaller run keeps the room of a larger one, and says so") {
  Runner runner;
  const auto backend = make_backend("cpu", 1);
  Document document = random_model([](Config&) {});
  const double large = runner.run(document, *backend).trace->memory().arena;
  document.sentence = "the cat sat on the mat and the dog";
  const TraceMemory small = runner.run(document, *backend).trace->memory();
  CHECK(small.arena < large);
  CHECK(small.arena + small.spare == doctest::Approx(large).epsilon(0.01));
}

// Sizes that are tried out: the width follows the heads, the row its source.
TEST_CASE("cost: sizes that are tried out go together") {
  Config c;
  RunShape shape{1, 12, 10};
  CHECK(sizes_of(c, shape) == CostSizes{12, 1, 2, 4, 64});
  set_sizes({100, 2, 3, 5, 64}, c, shape);
  CHECK(c.d_model == 65);
  CHECK(c.heads == 5);
  CHECK(shape.positions == 100);
  CHECK_NOTHROW(model_cost(c, shape));
  c.positions = PositionKind::kRotary;
  set_sizes({100, 2, 3, 5, 64}, c, shape);
  CHECK(c.d_model == 60);
  CHECK_NOTHROW(model_cost(c, shape));
  c.positions = PositionKind::kNone;
  c.kv_heads = 4;
  set_sizes({8, 1, 1, 6, 60}, c, shape);
  CHECK(c.kv_heads == 2);
  CHECK_NOTHROW(model_cost(c, shape));
  Config pair;
  pair.form = ModelForm::kTranslate;
  RunShape two{.batch = 1, .positions = 5, .vocab = 9, .source = 10};
  set_sizes({20, 1, 2, 4, 64}, pair, two);
  CHECK(two.source == 20);
  CHECK(two.positions == 10);
}

TEST_CASE("cost: the curve grows as T and as T², and has the run itself") {
  const ModelCost m = model_cost(Config{}, {1, 12, 10});
  REQUIRE(m.curve.size() > 8);
  bool own = false;
  for (std::size_t i = 0; i < m.curve.size(); ++i) {
    own |= m.curve[i].tokens == 12;
    if (i > 0) CHECK(m.curve[i].tokens > m.curve[i - 1].tokens);
  }
  CHECK(own);
  const CostPoint& last = m.curve.back();
  const CostPoint& before = m.curve[m.curve.size() - 2];
  CHECK(last.pair_bytes == 4 * before.pair_bytes);
  REQUIRE((m.narrow && m.wide));
  CHECK(m.narrow->parameter_count == m.run.parameter_count);
  CHECK(m.wide->parameter_count > 1.8 * m.narrow->parameter_count);
  CHECK(m.memory.total() == training_memory_needed(m.config, m.shape, {}, 1));
}

}  // namespace
}  // namespace headlight::test_memory_taken
