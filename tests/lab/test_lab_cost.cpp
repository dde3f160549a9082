// The lab "cost". Nothing here waits for a clock: of times only what holds for any.
#include <cmath>

#include "tests/support/lab_bench.h"

namespace headlight::test_lab_cost {
namespace {

LabSettings step(const char* storage, const char* accumulate, const char* checkpointing) {
  return {{"tokens", "64"},
          {"storage", storage},
          {"accumulate", accumulate},
          {"checkpointing", checkpointing}};
}

}  // namespace

TEST_CASE("labs: cost counts pairs, blocks and bytes by the number of tokens") {
  OneLab bench("cost");
  const LabResult r = bench.with({{"tokens", "256"}});
  CHECK(all_are_drawn(find_lab("cost"), r));
  const std::vector<double>&full = series_of(r, "pairs.full").y,
        &local = series_of(r, "pairs.local").y, &strided = series_of(r, "pairs.strided").y;
  REQUIRE(full.size() == 7);
  for (std::size_t i = 0; i < full.size(); ++i) CHECK(full[i] == std::pow(32.0 * (1 << i), 2));
  CHECK(local[0] == 32 * 33 / 2);                       // the window holds all that came before
  CHECK(local[2] == 65 * 66 / 2 + (128 - 65) * 65);     // itself and 64 before it
  CHECK(strided[2] == 64 * 65 / 2 + 64 * 64 + 64);      // 64 near, and from 64 on one more
  const double scores = 4.0 * 4 * 3 * 256 * 256 / 1e6;  // float32, four heads, three tensors
  CHECK(r.value("memory.full") - r.value("memory.fused") == doctest::Approx(scores));
  CHECK(r.value("computed.local") < 0.5);
  CHECK(has_notice(r, "fused"));
  CHECK(series_of(r, "time.full").y.size() >= 3);
}

TEST_CASE("labs: cost says what lowers the memory of a training step, and judges which most") {
  OneLab bench("cost");
  const LabResult plain = bench.with(step("float32", "1", "off"));
  CHECK(plain.value("training.chosen") == plain.value("training.plain"));
  CHECK_FALSE(has_notice(plain, "training"));
  CHECK(right_answer(plain, "twice") != "");
  for (const LabSettings& s :
       {step("float16", "1", "off"), step("float32", "8", "off"), step("float32", "1", "on")}) {
    const LabResult r = bench.with(s);
    CHECK(r.value("training.chosen") < r.value("training.plain"));
    CHECK(has_notice(r, "training"));
  }
  // A deep model has most to make again; of one layer accumulation leaves the least.
  Document deep = bench.document();
  deep.config.layers = 48;
  const std::string of_deep = right_answer(bench.run(deep, {{"tokens", "64"}}), "saves");
  deep.config.layers = 1;
  const std::string of_one = right_answer(bench.run(deep, {{"tokens", "64"}}), "saves");
  CHECK(of_deep == "checkpointed");
  CHECK(of_one == "accumulated");
}

TEST_CASE("labs: cost measures any model, stops when asked, and shows what is there so far") {
  OneLab bench("cost");
  Document wide = bench.document();
  wide.config.d_model = 4096;
  wide.config.layers = 1;
  CHECK(has_note(bench.run(wide, {{"tokens", "64"}}), "lab.cost.note.narrow"));
  bench.stops_after(12, bench.document());
  int shown = 0;
  const Document document = bench.document();
  run_lab(find_lab("cost"), {document, bench.runner, *bench.backend, {}, [&](const LabResult& r) {
                               ++shown;
                               CHECK(right_answer(r, "saves") != "");
                             }});
  CHECK(shown >= 2);
}

}  // namespace headlight::test_lab_cost
