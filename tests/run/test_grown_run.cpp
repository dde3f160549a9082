// A run that takes the rows of the run before, against one that computes all of them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/run/large/grown_run.h"
#include "core/run/runner.h"
#include "tests/run/drawn_models.h"

namespace headlight::test_grown_run {
namespace {

using namespace drawn;

RunLimits growing() {
  RunLimits limits;
  limits.grow_from = 0;
  return limits;
}

// Rows of each recipe that go on, every tensor of them against that of a whole run.
int check_rows_that_go_on(const RunLimits& limits, std::uint64_t recipes) {
  int tried = 0;
  for (const bool fast : {false, true}) {
    const auto backend = fast ? make_cpu_backend(2) : make_reference_backend();
    const auto other = fast ? make_cpu_backend(1) : make_reference_backend();
    for (std::uint64_t seed = 1; seed <= recipes; ++seed) {
      const Config config = drawn_config(seed);
      if (!is_model(config)) continue;
      CAPTURE(seed);
      const auto model = readable_model(config, seed);
      Runner grows(limits);
      const std::vector<int> ids = drawn_ids(seed, kContext);
      std::int64_t before = 0;
      for (const std::int64_t n : {1, 2, 5, 6, 12, 22}) {
        grows.set_shown(n % 2 == 0 ? "blocks.0.attn.pattern" : "");  // another layer each time
        const Document doc = document_of_ids(config, {ids.begin(), ids.begin() + n});
        const RunResult grown = grows.run(doc, *backend, model);
        REQUIRE_MESSAGE(grown.trace, grown.problem);
        CHECK(grown.trace->keeps_all() == (limits.keep_all_to > 0));
        CHECK(grown.rows_taken == before);
        before = n;
        Runner whole;
        const RunResult all = whole.run(doc, *other, model);
        CHECK(all.rows_taken == 0);
        const auto worst = largest_difference(*grown.trace, *all.trace);
        CAPTURE(worst.second);
        CHECK(worst.first < 1e-5);
        ++tried;
      }
    }
  }
  return tried;
}

}  // namespace

TEST_CASE("grown runs: every tensor of a row that goes on is that of the whole row") {
  CHECK(check_rows_that_go_on(growing(), 120) >= 600);
}

TEST_CASE("grown runs: so it is where layers are not kept") {
  RunLimits limits = growing();
  limits.keep_all_to = 0;
  CHECK(check_rows_that_go_on(limits, 60) >= 300);
}

TEST_CASE("grown runs: rows of logits lie in one place, and nobody's are written over") {
  const Config config = drawn_config(3);
  const auto model = readable_model(config, 3);
  const auto backend = make_cpu_backend(1);
  RunLimits limits = growing();
  limits.keep_all_to = 0;
  Runner grows(limits);
  const auto run = [&](const std::vector<int>& ids) {
    const auto trace = grows.run(document_of_ids(config, ids), *backend, model).trace;
    REQUIRE(trace);
    return trace;
  };
  const auto cells_of = [](const Trace& trace) {
    const auto cells = trace.tensor("logits").cells();
    return std::vector<float>(cells.begin(), cells.end());
  };
  std::vector<int> ids = drawn_ids(7, 6);
  run(ids);
  ids.push_back(1);
  const auto first = run(ids);  // has room for more
  const std::vector<float> of_first = cells_of(*first);
  ids.push_back(2);
  const auto second = run(ids);
  const std::vector<float> of_second = cells_of(*second);
  CHECK(second->tensor("logits").data == first->tensor("logits").data);
  ids.back() = 3;  // other rows behind the first's
  const auto other = run(ids);
  CHECK(other->tensor("logits").data != first->tensor("logits").data);
  ids.push_back(4);
  const auto longer = run(ids);
  CHECK(longer->tensor("logits").data == other->tensor("logits").data);
  CHECK(cells_of(*first) == of_first);
  CHECK(cells_of(*second) == of_second);
  Runner whole;
  for (const auto& trace : {first, second, other, longer}) {
    const auto all = whole.run(document_of_ids(config, trace->input().ids), *backend, model).trace;
    CHECK(largest_difference(*trace, *all).first < 1e-5);
  }
}

TEST_CASE("grown runs: a token that is no number reaches every row, as in a whole run") {
  const Config config = drawn_config(3);
  auto model = std::make_shared<Model>(*readable_model(config, 3));
  Tensor& table = model->weights.front();
  REQUIRE(table.axes.front().name == "vocab");
  const std::int64_t width = table.axes.back().size;
  table.data[static_cast<std::size_t>(5 * width)] = std::nanf("");
  const auto backend = make_cpu_backend(1);
  Runner grows(growing()), whole;
  std::vector<int> ids = {1, 2, 3};
  for (const int next : {4, 5, 6}) {
    ids.push_back(next);
    const RunResult grown = grows.run(document_of_ids(config, ids), *backend, model);
    const RunResult all = whole.run(document_of_ids(config, ids), *backend, model);
    REQUIRE(grown.trace);
    const auto a = grown.trace->tensor("logits").cells(), b = all.trace->tensor("logits").cells();
    CHECK(std::ranges::equal(
        a, b, {}, [](float x) { return std::isnan(x); }, [](float x) { return std::isnan(x); }));
  }
}

TEST_CASE("grown runs: what differs, and all behind it, is computed") {
  const Config config = drawn_config(3);
  const auto model = readable_model(config, 3);
  const auto backend = make_reference_backend();
  Runner grows(growing());
  std::vector<int> ids = drawn_ids(7, 12);
  const auto check = [&](std::int64_t taken) {
    const Document doc = document_of_ids(config, ids);
    const RunResult grown = grows.run(doc, *backend, model);
    REQUIRE(grown.trace);
    CHECK(grown.rows_taken == taken);
    Runner whole;
    CHECK(largest_difference(*grown.trace, *whole.run(doc, *backend, model).trace).first < 1e-5);
  };
  check(0);
  ids[4] = (ids[4] + 1) % kVocab;  // changed in the middle
  check(4);
  ids.resize(9);  // taken away: the last row's logits are there, but one row is computed
  check(8);
  check(8);  // the same once more
  ids[0] = (ids[0] + 1) % kVocab;
  check(0);
}

TEST_CASE(
    "grown runs: another model, config or backend, gradients, or little work: all is computed") {
  Config config = drawn_config(3);
  config.scale = true;
  config.score_scale = 0;
  const auto model = readable_model(config, 3), twin = readable_model(config, 4);
  const auto backend = make_reference_backend(), other = make_cpu_backend(1);
  const std::vector<int> ids = drawn_ids(7, 12), more = drawn_ids(7, 13);
  const auto taken = [&](Runner& runner, Backend& b, const std::shared_ptr<const Model>& m,
                         const Document& doc, bool gradients = false) {
    const RunResult result = runner.run(doc, b, m, gradients);
    REQUIRE_MESSAGE(result.trace, result.problem);
    return result.rows_taken;
  };
  const Document first = document_of_ids(config, ids), second = document_of_ids(config, more);
  Document changed = second;
  changed.config.temperature = 0.5;
  const auto after = [&](Backend& b, const std::shared_ptr<const Model>& m, const Document& doc,
                         bool gradients = false) {
    Runner runner(growing());
    CHECK(taken(runner, *backend, model, first) == 0);
    return taken(runner, b, m, doc, gradients);
  };
  CHECK(after(*backend, model, second) == 12);
  CHECK(after(*backend, twin, second) == 0);
  CHECK(after(*other, model, second) == 0);
  CHECK(after(*backend, model, changed) == 0);
  CHECK(after(*backend, model, second, true) == 0);
  Runner usual;  // small runs have the same bits whatever was run before
  CHECK(taken(usual, *backend, model, first) == 0);
  CHECK(taken(usual, *backend, model, second) == 0);
  CHECK_FALSE(looks_back_only(build_program(
      [&] {
        Config c = config;
        c.mask.kind = MaskKind::kNone;
        return c;
      }(),
      {1, 12, kVocab})));
}

}  // namespace headlight::test_grown_run
