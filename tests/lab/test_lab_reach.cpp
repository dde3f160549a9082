// Reach: what is said of layers and of trained models, and when it is not.
#include <doctest/doctest.h>

#include "tests/support/error_text.h"
#include "tests/support/lab_bench.h"

namespace headlight::test_lab_reach {

TEST_CASE("labs: reach counts the words that changed the last row") {
  LabBench bench;
  const LabResult usual = bench.run("reach");
  for (const char* id : {"full", "window", "strided", "forgets", "cliff"})
    CHECK(has_notice(usual, id));
  CHECK(all_are_drawn(find_lab("reach"), usual));
  CHECK(usual.value("reached.local") == 5);  // itself and two words in each of two layers
  CHECK(usual.value("reached.full") == 10);
  CHECK(right_answer(usual, "first") == "no");
  CHECK(right_answer(usual, "local") == "chance");
  CHECK(series_of(usual, "path.recurrent").y.back() == 9);
  CHECK(series_of(usual, "path.full").y.back() == 1);
  CHECK(usual.value("path.recurrent") == 9);
  CHECK(usual.value("path.full") == 1);
  CHECK(usual.value("steps.recurrent") == 10);
  const LabResult deep = bench.run("reach", kLabSentence, {{"layers", "8"}});
  CHECK(right_answer(deep, "first") == "yes");
  CHECK_FALSE(has_notice(deep, "window"));
}

TEST_CASE("labs: reach of few words, of equal ones and of many") {
  LabBench bench;
  const LabResult few = bench.run("reach", "a b c d");
  CHECK(right_answer(few, "first") == "yes");
  CHECK(right_answer(few, "local") == "most");  // three tokens back are within reach
  CHECK_FALSE(has_notice(few, "window"));
  CHECK_FALSE(has_notice(few, "strided"));
  const LabResult one = bench.run("reach", "cat");
  CHECK(one.questions.empty());
  for (const char* id : {"full", "window", "strided"}) CHECK_FALSE(has_notice(one, id));
  // Of equal words one alone is replaced.
  CHECK(bench.run("reach", "cat cat cat cat cat cat cat").value("reached.local") == 5);
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "w" + std::to_string(i) + " ";
  const LabResult cut = bench.run("reach", many, {{"layers", "8"}});
  CHECK(cut.value("reached.full") == 16);
  CHECK(cut.notes.size() == 1);
}

TEST_CASE("labs: reach trains what it keeps") {
  LabBench bench;
  check_first_points(bench, "reach", 3);
}

}  // namespace headlight::test_lab_reach
