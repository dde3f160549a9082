// The lab of forms: who sees whom, what both sides of a gap are worth, and rows written alone.
#include <doctest/doctest.h>

#include "core/base/error.h"
#include "core/lab/lab_training.h"
#include "tests/support/error_text.h"
#include "tests/support/lab_bench.h"

namespace headlight::test_lab_forms {
namespace {

LabResult forms_of(const std::string& sentence, const LabSettings& settings = {},
                   const ProgressFunction& progress = {}) {
  Document document;
  document.sentence = sentence;
  return LabBench().run("forms", document, settings, progress);
}

}  // namespace

TEST_CASE("labs: forms: an encoder sees all, a decoder what came before, both two rows") {
  const LabResult three = forms_of("the cat sat on the mat");
  CHECK(three.value("pairs.encoder") == 9);
  CHECK(three.value("pairs.decoder") == 6);
  CHECK(three.value("pairs.both") == 9 + 10 + 12);
  CHECK(three.pictures.size() == 5);
  for (const char* id : {"pairs", "gap", "forcing"}) CHECK(has_notice(three, id));
  CHECK(right_answer(three, "gap") == "both");
  CHECK(right_answer(three, "forcing") == "fewer");
  CHECK(three.in_steps.config.form == ModelForm::kTranslate);
  // The last word has nothing on its right, and at the end both ways of reading are right.
  const LabResult last = forms_of("cat", {{"gap", "22"}, {"step", "400"}});
  CHECK(last.value("pairs.encoder") == 1);
  CHECK(right_answer(last, "gap") == "same");
  CHECK(right_answer(last, "forcing") == "same");
  CHECK_FALSE(has_notice(last, "forcing"));
  CHECK(error_of([] { forms_of(""); }) != "");
}

TEST_CASE("labs: forms: training now gives what was kept, and can be stopped in the middle") {
  const LabResult kept = forms_of("a b"), live = forms_of("a b", {{"run", "live"}});
  const auto a = kept_curve(kept.trained, "run", LabCurve::kLoss),
             b = kept_curve(live.trained, "run", LabCurve::kLoss);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < 5; ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-3));
  CHECK(live.value("alone") == doctest::Approx(kept.value("alone")).epsilon(0.1));
  int told = 0;
  CHECK_THROWS_AS(forms_of("a b", {{"run", "live"}}, [&](const Progress&) { return ++told < 60; }),
                  Cancelled);
  CHECK(told == 60);
}

}  // namespace headlight::test_lab_forms
