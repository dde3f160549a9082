// The lab of forms: who sees whom, what both sides of a gap are worth, and rows written alone.
#include <doctest/doctest.h>

#include "core/base/error.h"
#include "core/lab/lab_training.h"
#include "tests/support/error_text.h"

namespace headlight {
namespace {

LabResult forms_of(const std::string& sentence, const LabSettings& settings = {},
                   const ProgressFunction& progress = {}) {
  Runner runner;
  const auto backend = make_backend("cpu", 1);
  Document document;
  document.sentence = sentence;
  return run_lab(find_lab("forms"), {document, runner, *backend, progress}, settings);
}

bool noticed(const LabResult& r, std::string_view id) {
  return std::ranges::any_of(r.notice, [&](const Message& m) { return m.id.ends_with(id); });
}

std::string said_to(const LabResult& r, std::string_view id) {
  for (const LabQuestion& q : r.questions) {
    if (q.id == id) return q.answers[q.right];
  }
  return {};
}

}  // namespace

TEST_CASE("labs: forms: an encoder sees all, a decoder what came before, both two rows") {
  const LabResult three = forms_of("the cat sat on the mat");
  CHECK(three.value("pairs.encoder") == 9);
  CHECK(three.value("pairs.decoder") == 6);
  CHECK(three.value("pairs.both") == 9 + 10 + 12);
  CHECK(three.pictures.size() == 5);
  for (const char* id : {".pairs", ".gap", ".forcing"}) CHECK(noticed(three, id));
  CHECK(said_to(three, "gap") == "both");
  CHECK(said_to(three, "forcing") == "fewer");
  CHECK(three.in_steps.config.form == ModelForm::kTranslate);
  // The last word has nothing on its right, and at the end both ways of reading are right.
  const LabResult last = forms_of("cat", {{"gap", "22"}, {"step", "400"}});
  CHECK(last.value("pairs.encoder") == 1);
  CHECK(said_to(last, "gap") == "same");
  CHECK(said_to(last, "forcing") == "same");
  CHECK_FALSE(noticed(last, ".forcing"));
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

}  // namespace headlight
