// Positions: what is said of sinusoids and of trained models, and when it is not.
#include <doctest/doctest.h>

#include "tests/support/lab_bench.h"

namespace headlight::test_lab_positions {

TEST_CASE("labs: positions turn, and models of each kind are tested on longer rows") {
  LabBench bench;
  const LabResult usual = bench.run("positions");
  for (const char* id : {"rotation", "distance", "sinusoidal", "relative", "ends", "none"})
    CHECK(has_notice(usual, id));
  CHECK(all_are_drawn(find_lab("positions"), usual));
  CHECK(usual.value("rotation_error") < 1e-5);
  CHECK(right_answer(usual, "hand") == "slow");
  CHECK(right_answer(usual, "alibi") == "most");
  CHECK(series_of(usual, "wavelength").y[0] == doctest::Approx(6.2832).epsilon(1e-4));
  CHECK(series_of(usual, "longer.learned").x.back() == 15);
  CHECK(series_of(usual, "longer.rotary").x.back() == 31);
  CHECK(usual.value("at_16.learned") > 0.9);
  // 44 positions are nearly seven turns of the fastest hand. Three back is more than ALiBi can say.
  const LabResult other =
      bench.run("positions", kLabSentence, {{"shift", "44"}, {"back", "3"}, {"position", "63"}});
  CHECK(right_answer(other, "hand") == "fast");
  CHECK(right_answer(other, "alibi") == "few");
  // Nothing is shifted: nothing turns.
  const LabResult still = bench.run("positions", "cat", {{"shift", "0"}});
  CHECK(right_answer(still, "hand") == "");
  CHECK_FALSE(has_notice(still, "rotation"));
  CHECK(still.value("product") == doctest::Approx(1));
}

TEST_CASE("labs: positions of long sentences and of any model's") {
  LabBench bench;
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "w" + std::to_string(i) + " ";
  const LabResult cut = bench.run("positions", many);
  CHECK(cut.notes.size() == 1);
  for (const LabPicture& p : cut.pictures)
    CHECK(p.cells.size() == p.rows.size() * p.columns.size());
  CHECK(bench.run("positions", "not very near", {}, "sentiment").pictures.size() == 3);
}

TEST_CASE("labs: positions trains what it keeps") {
  LabBench bench;
  check_first_points(bench, "positions", 3);
}

}  // namespace headlight::test_lab_positions
