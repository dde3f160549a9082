// Segments: what is said of models with memory and without, and when it is not.
#include <doctest/doctest.h>

#include "tests/support/lab_bench.h"

namespace headlight::test_lab_segments {

TEST_CASE("labs: segments are read as well as their memory reaches back") {
  LabBench bench;
  const LabResult eight = bench.run("segments");
  for (const char* id : {"without", "memory", "beginning"}) CHECK(has_notice(eight, id));
  CHECK(all_are_drawn(find_lab("segments"), eight));
  CHECK(right_answer(eight, "begins") == "higher");
  CHECK(right_answer(bench.run("segments", kLabSentence, {{"memory", "16"}}), "begins") == "same");
  CHECK(right_answer(bench.run("segments", kLabSentence, {{"memory", "0"}}), "begins") == "higher");
  // The letter that comes next stands nine back: with eight remembered the second position has it.
  const std::vector<double>& loss = series_of(eight, "position.memory_8").y;
  CHECK(loss[0] > 1.5);
  CHECK(*std::max_element(loss.begin() + 1, loss.end()) < 0.8);
  CHECK(series_of(eight, "position.memory_0").y[8] > 1.5);
  CHECK(series_of(eight, "position.memory_0").y[9] < 0.8);
}

TEST_CASE("labs: what a segment looks at has the rows that are remembered") {
  LabBench bench;
  for (const int memory : {0, 8, 16}) {
    const LabResult r =
        bench.run("segments", "cat", {{"memory", std::to_string(memory)}}, "stories");
    REQUIRE(r.pictures.size() == 1);
    const LabPicture& p = r.pictures[0];
    CHECK(p.columns.size() == 16 + static_cast<std::size_t>(memory));
    CHECK(p.cells.size() == p.rows.size() * p.columns.size());
    double first = 0;
    for (std::size_t c = 0; c < p.columns.size(); ++c) first += static_cast<double>(p.cells[c]);
    CHECK(first == doctest::Approx(1).epsilon(1e-4));
  }
}

TEST_CASE("labs: segments trains what it keeps") {
  LabBench bench;
  check_first_points(bench, "segments", 3);
}

}  // namespace headlight::test_lab_segments
