// The lab "pooling": what is kept, what is said of it, and what training now finds.
#include <cmath>

#include "core/lab/lab_training.h"
#include "tests/lab/lab_bench_c.h"

namespace headlight {
namespace {

LabSettings pooling(const char* sentences, const char* layers, const char* example = "1") {
  return {{"sentences", sentences}, {"layers", layers}, {"example", example}};
}

}  // namespace

TEST_CASE("labs: pooling judges what adding up can say, and what attention has to bring") {
  LabBench bench("pooling");
  const LabResult plain = bench.with(pooling("plain", "0"));
  check_charts(plain, "pooling");
  CHECK(lab_answer(plain, "mean") == "most");
  CHECK(lab_answer(plain, "class_token") == "chance");
  CHECK(lab_notices(plain, "blind"));
  CHECK_FALSE(lab_notices(plain, "added"));
  const LabResult attended = bench.with(pooling("plain", "1"));
  CHECK(lab_answer(attended, "class_token") == "most");
  CHECK_FALSE(lab_notices(attended, "blind"));
  // "not" turns the meaning round, which no sum of rows says.
  const LabResult negated = bench.with(pooling("negated", "0"));
  CHECK(lab_answer(negated, "mean") == "chance");
  CHECK(lab_notices(negated, "added"));
  CHECK(lab_answer(bench.with(pooling("negated", "1")), "mean") == "most");
  CHECK(attended.value("difference") < 1e-5);
  for (const LabPicture& p : plain.pictures) {
    for (std::size_t i = 0; i < p.rows.size(); ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < p.columns.size(); ++j) sum += p.cells[i * p.columns.size() + j];
      CHECK(sum == doctest::Approx(1).epsilon(1e-4));
    }
  }
}

TEST_CASE("labs: pooling reads the person's own words where it knows them") {
  LabBench bench("pooling");
  Document d = bench.document();
  CHECK(lab_notes(bench.run(d), "lab.note.example"));
  d.sentence = "Tom hates the cake .";
  const LabResult own = bench.run(d);
  CHECK(own.notes.empty());
  CHECK(own.in_steps.sentence == "tom hates the cake .");
  CHECK(own.pictures[0].columns.size() == 6);  // [CLS] before them
  d.sentence = "tom";                          // one word: every way weighs it alone
  const LabResult one = bench.run(d);
  CHECK_FALSE(lab_notices(one, "word"));
  CHECK_FALSE(lab_notices(one, "query"));
  CHECK_FALSE(lab_notices(one, "foci"));
  for (int i = 0; i < 200; ++i) d.sentence += " tom hates the cake";
  CHECK(lab_notes(bench.run(d), "lab.note.first_tokens"));
  d.sentence = "[PAD] tom";
  CHECK(lab_notes(bench.run(d), "lab.note.example"));
}

TEST_CASE("labs: pooling learns now what is kept, and stops when asked") {
  LabBench bench("pooling");
  LabSettings live = pooling("plain", "0");
  live["run"] = "live";
  const LabResult kept = bench.with(pooling("plain", "0"));
  const LabResult now = bench.with(live);
  REQUIRE(now.trained.size() == kept.trained.size());
  for (const Tensor& curve : now.trained) {
    if (!curve.name.ends_with(".curve")) continue;
    CAPTURE(curve.name);
    const Tensor& before = kept_tensor(kept.trained, curve.name);
    REQUIRE(before.data.size() == curve.data.size());
    // Roundings of another compiler grow from step to step.
    for (std::size_t i = 0; i < 3 * 3; ++i)
      CHECK(std::fabs(curve.data[i] - before.data[i]) < (i % 3 == 2 ? 0.1 : 0.02));
  }
  CHECK(lab_answer(now, "mean") == "most");
  bench.stops_after(700, bench.document(), live);  // in the middle of the second classifier
}

}  // namespace headlight
