// The lab that watches a head form: what is kept is what training gives, and what is said of the
// heads goes at steps where it is not so.
#include <doctest/doctest.h>

#include "core/base/error.h"
#include "core/lab/lab_training.h"
#include "tests/support/error_text.h"
#include "tests/support/lab_bench.h"

namespace headlight::test_lab_induction {
namespace {

LabResult forming_lab(const std::string& sentence, const LabSettings& settings = {},
                      const ProgressFunction& progress = {}) {
  Document document;
  document.sentence = sentence;
  return LabBench().run("induction", document, settings, progress);
}

}  // namespace

TEST_CASE("labs: induction: two heads form, and the second needs the first") {
  const LabResult last = forming_lab("the cat sat on the mat");
  for (const char* id : {"drop", "off", "sentence"}) CHECK(has_notice(last, id));
  CHECK_FALSE(has_notice(last, "chance"));
  CHECK(last.value("induction") > 0.9);
  REQUIRE(last.questions.size() == 1);
  CHECK(last.questions[0].id == "first");
  CHECK(last.questions[0].right == 2);
  const LabResult first_off = forming_lab("the cat sat on the mat", {{"off", "previous"}});
  CHECK(first_off.value("previous") == 0);
  CHECK(first_off.value("induction") < 0.1);
  CHECK_FALSE(has_notice(first_off, "sentence"));
  const LabResult second_off = forming_lab("the cat sat on the mat", {{"off", "induction"}});
  REQUIRE(second_off.questions.size() == 1);
  CHECK(second_off.questions[0].right == 0);
  CHECK(second_off.in_steps.config.masked_heads.size() == 1);
}

TEST_CASE("labs: induction: before anything was learned nothing has formed") {
  const LabResult begin = forming_lab("the cat sat on the mat", {{"step", "0"}});
  CHECK(has_notice(begin, "chance"));
  for (const char* id : {"off", "sentence"}) CHECK_FALSE(has_notice(begin, id));
  CHECK(begin.questions.empty());
  // One word twice has nothing else to look at.
  CHECK_FALSE(has_notice(forming_lab("cat"), "sentence"));
  std::string many;
  for (int i = 0; i < 40; ++i) many += " w" + std::to_string(i);
  const LabResult cut = forming_lab(many);
  CHECK(cut.notes.size() == 1);
  CHECK(cut.pictures[0].rows.size() == 30);
  CHECK(cut.pictures[0].rows[29] == "w14");
  CHECK(error_of([] { forming_lab(""); }) != "");
}

TEST_CASE("labs: induction: training now gives what was kept, and can be stopped in the middle") {
  const LabResult kept = forming_lab("a b"), live = forming_lab("a b", {{"run", "live"}});
  const auto a = kept_curve(kept.trained, "run", LabCurve::kLoss),
             b = kept_curve(live.trained, "run", LabCurve::kLoss);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < 5; ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-3));
  CHECK(live.value("induction") == doctest::Approx(kept.value("induction")).epsilon(0.1));
  int told = 0;
  CHECK_THROWS_AS(
      forming_lab("a b", {{"run", "live"}}, [&](const Progress&) { return ++told < 99; }),
      Cancelled);
  CHECK(told == 99);
}

}  // namespace headlight::test_lab_induction
