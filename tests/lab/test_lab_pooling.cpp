// The lab "pooling": what is kept, what is said of it, and what training now finds.
#include <cmath>

#include "core/lab/lab_training.h"
#include "tests/support/lab_bench.h"

namespace headlight::test_lab_pooling {
namespace {

LabSettings pooling(const char* sentences, const char* layers, const char* example = "1") {
  return {{"sentences", sentences}, {"layers", layers}, {"example", example}};
}

}  // namespace

TEST_CASE("labs: pooling judges what adding up can say, and what attention has to bring") {
  OneLab bench("pooling");
  const LabResult plain = bench.with(pooling("plain", "0"));
  CHECK(all_are_drawn(find_lab("pooling"), plain));
  CHECK(right_answer(plain, "mean") == "most");
  CHECK(right_answer(plain, "class_token") == "chance");
  CHECK(has_notice(plain, "blind"));
  CHECK_FALSE(has_notice(plain, "added"));
  const LabResult attended = bench.with(pooling("plain", "1"));
  CHECK(right_answer(attended, "class_token") == "most");
  CHECK_FALSE(has_notice(attended, "blind"));
  // "not" turns the meaning round, which no sum of rows says.
  const LabResult negated = bench.with(pooling("negated", "0"));
  CHECK(right_answer(negated, "mean") == "chance");
  CHECK(has_notice(negated, "added"));
  CHECK(right_answer(bench.with(pooling("negated", "1")), "mean") == "most");
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
  OneLab bench("pooling");
  Document d = bench.document();
  CHECK(has_note(bench.run(d), "lab.note.example"));
  d.sentence = "Tom hates the cake .";
  const LabResult own = bench.run(d);
  CHECK(own.notes.empty());
  CHECK(own.in_steps.sentence == "tom hates the cake .");
  CHECK(own.pictures[0].columns.size() == 6);  // [CLS] before them
  d.sentence = "tom";                          // one word: every way weighs it alone
  const LabResult one = bench.run(d);
  CHECK_FALSE(has_notice(one, "word"));
  CHECK_FALSE(has_notice(one, "query"));
  CHECK_FALSE(has_notice(one, "foci"));
  for (int i = 0; i < 200; ++i) d.sentence += " tom hates the cake";
  CHECK(has_note(bench.run(d), "lab.note.first_tokens"));
  d.sentence = "[PAD] tom";
  CHECK(has_note(bench.run(d), "lab.note.example"));
}

TEST_CASE("labs: pooling learns now what is kept, and stops when asked") {
  OneLab bench("pooling");
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
  CHECK(right_answer(now, "mean") == "most");
  bench.stops_after(700, bench.document(), live);  // in the middle of the second classifier
}

}  // namespace headlight::test_lab_pooling
