// The lab of masks: the leak is trained as it was kept, and what is said of it and of [PAD] goes
// where it is not so.
#include <doctest/doctest.h>

#include "core/base/error.h"
#include "core/lab/lab_training.h"
#include "tests/support/error_text.h"
#include "tests/support/lab_bench.h"

namespace headlight::test_lab_masks {
namespace {

LabResult mask_lab(const std::string& sentence, const LabSettings& settings = {},
                   ProgressFunction progress = {}) {
  Document document;
  document.sentence = sentence;
  return LabBench().run("masks", document, settings, std::move(progress));
}

}  // namespace

TEST_CASE("labs: masks: without the causal mask the answer leaks, and with it nothing does") {
  const LabResult open = mask_lab("the cat sat on the mat");
  for (const char* id : {"leak", "next", "writes", "pads", "empty"}) CHECK(has_notice(open, id));
  CHECK(right_answer(open, "alone_open") == "few");
  CHECK(open.value("training.none") > 0.99);
  const LabResult causal = mask_lab("the cat sat on the mat", {{"mask", "causal"}});
  CHECK(right_answer(causal, "alone_causal") == "all");
  CHECK_FALSE(has_notice(causal, "next"));
  CHECK(causal.value("next") == 0);
}

TEST_CASE("labs: masks: [PAD] takes weight unless it is masked, and none where there is none") {
  const LabResult some = mask_lab("the cat sat", {{"padding", "16"}});
  CHECK(some.value("pads.weight") > 0.3);
  CHECK(some.value("pads.change") > 0.1);
  CHECK(some.value("pads.masked") < 1e-6);
  CHECK(right_answer(some, "pads") != "nothing");
  CHECK(some.in_steps.config.mask.padding.size() == 16);
  // Many words, one [PAD]: hardly any weight.
  const LabResult none = mask_lab("the cat sat", {{"padding", "0"}});
  CHECK_FALSE(has_notice(none, "pads"));
  CHECK(right_answer(none, "pads").empty());
  CHECK(none.value("pads.change") == 0);
  std::vector<std::string> answers;
  for (const char* sentence : {"a", "the cat sat", "b c d e f g h i j k l m n o p q"})
    answers.push_back(right_answer(mask_lab(sentence, {{"padding", "1"}}), "pads"));
  CHECK(std::ranges::count(answers, answers[0]) < 3);
  CHECK(mask_lab("a", {{"padding", "1"}}).value("empty.large") == doctest::Approx(1));
  CHECK(error_of([] { mask_lab(""); }) != "");
}

TEST_CASE("labs: masks: training now gives what was kept, and can be stopped in the middle") {
  const LabResult kept = mask_lab("a b"), live = mask_lab("a b", {{"run", "live"}});
  for (const char* name : {"none", "causal"}) {
    const auto a = kept_curve(kept.trained, name, LabCurve::kLoss);
    const auto b = kept_curve(live.trained, name, LabCurve::kLoss);
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < 5; ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-3));
  }
  CHECK(live.value("alone.none") == doctest::Approx(kept.value("alone.none")).epsilon(0.3));
  int told = 0;
  CHECK_THROWS_AS(mask_lab("a b", {{"run", "live"}}, [&](const Progress&) { return ++told < 50; }),
                  Cancelled);
  CHECK(told == 50);
}

}  // namespace headlight::test_lab_masks
