// The lab "experts": two parts of a curve, and words.
#include <cmath>

#include "core/lab/lab_training.h"
#include "tests/support/lab_bench.h"

namespace headlight::test_lab_experts {

TEST_CASE("labs: experts divide a curve where they compete, and cannot where there is one") {
  OneLab bench("experts");
  const LabResult two = bench.with({});
  CHECK(all_are_drawn(find_lab("experts"), two));
  CHECK(right_answer(two, "alone") == "less");
  for (const char* id : {"regimes", "exact", "word"}) CHECK(has_notice(two, id));
  CHECK(two.value("error.mixture") < two.value("error.network"));
  const LabResult one = bench.with({{"experts", "1"}});
  CHECK(right_answer(one, "alone") == "same");
  for (const char* id : {"regimes", "exact"}) CHECK_FALSE(has_notice(one, id));
  CHECK(one.value("error.mixture") > one.value("error.network"));
  CHECK(one.value("left.1") == doctest::Approx(1));
  // Where the error of the mean is learned from, an expert alone may be far from the curve.
  bool larger = false;
  for (int draw = 1; draw <= 20 && !larger; ++draw) {
    const LabResult r =
        bench.with({{"experts", "3"}, {"loss", "blend"}, {"draw", std::to_string(draw)}});
    larger = right_answer(r, "alone") == "more";
    if (larger) CHECK_FALSE(has_notice(r, "exact"));
  }
  CHECK(larger);
}

TEST_CASE("labs: experts weigh the words of the sentence, and count who is heard") {
  OneLab bench("experts");
  Document d = bench.document();
  CHECK(has_note(bench.run(d), "lab.note.example"));
  CHECK(right_answer(bench.run(d), "used") == "all");
  d.sentence = "a";
  const LabResult one = bench.run(d);
  CHECK(right_answer(one, "used") == "one");
  CHECK(one.pictures[0].columns.size() == 1);
  CHECK(one.notes.empty());
  const LabResult r = bench.with({});
  for (const LabPicture& p : r.pictures) {
    CAPTURE(p.name);
    CHECK(p.cells.size() == p.rows.size() * p.columns.size());
  }
  const LabPicture& words = r.pictures[0];
  for (std::size_t w = 0; w < words.columns.size(); ++w) {
    double sum = 0;
    for (std::size_t e = 0; e < 4; ++e) sum += words.cells[e * words.columns.size() + w];
    CHECK(sum == doctest::Approx(1).epsilon(1e-4));
  }
  for (const std::string line : {"load.sentence", "load.stories"}) {
    double sum = 0;
    for (const double y : series_of(r, line).y) sum += y;
    CHECK(sum == doctest::Approx(1).epsilon(1e-4));
  }
}

TEST_CASE("labs: experts learn now what is kept, and stop when asked") {
  OneLab bench("experts");
  const LabResult kept = bench.with({}), now = bench.with({{"run", "live"}});
  const Tensor &before = kept_tensor(kept.trained, "words.curve"),
               &curve = kept_tensor(now.trained, "words.curve");
  REQUIRE(before.data.size() == curve.data.size());
  // Roundings of another compiler grow from step to step.
  for (std::size_t i = 0; i < 2 * 3; ++i) CHECK(std::fabs(curve.data[i] - before.data[i]) < 0.05);
  const double first = curve.data[1], last = curve.data[curve.data.size() - 2];
  CHECK(last < 0.6 * first);
  bench.stops_after(20, bench.document());
  bench.stops_after(300, bench.document(), {{"run", "live"}});
}

}  // namespace headlight::test_lab_experts
