// The lab of heads: where they look by what is asked, what their mean hides, and that training now
// gives what was kept.
#include <doctest/doctest.h>

#include "core/base/error.h"
#include "core/lab/lab_training.h"
#include "core/model/bundled.h"
#include "tests/support/error_text.h"
#include "tests/support/lab_bench.h"

namespace headlight::test_lab_heads {
namespace {

Document sentence_of(const std::string& sentence) {
  Document document;
  document.sentence = sentence;
  return document;
}

LabResult heads_of(const Document& document, const LabSettings& settings = {},
                   const ProgressFunction& progress = {}) {
  return LabBench().run("heads", document, settings, progress);
}

}  // namespace

TEST_CASE("labs: heads: one head looks at one word, and divides its weight between two") {
  const Document d = sentence_of("the cat sat on the mat");
  const LabResult both = heads_of(d);
  for (const char* id : {"mean", "cost", "divided", "loss"}) CHECK(has_notice(both, id));
  CHECK(right_answer(both, "asked") == "divided");
  CHECK(both.value("loss.two") < both.value("loss.one"));
  for (const auto& [asked, looked] :
       {std::pair{"who", "giver"}, {"whom", "receiver"}, {"what", "thing"}}) {
    const LabResult one = heads_of(d, {{"asked", asked}});
    CHECK(right_answer(one, "asked") == looked);
    CHECK_FALSE(has_notice(one, "divided"));
  }
}

TEST_CASE("labs: heads: narrow heads cost what one does, and the mean hides where they look") {
  const Document d = sentence_of("the cat sat on the mat");
  const LabResult eight = heads_of(d, {{"heads", "8"}});
  CHECK(eight.value("parameters.narrow") == 4 * (64 * 64 + 64));
  CHECK(eight.value("parameters.wide") > 7 * eight.value("parameters.narrow"));
  CHECK(has_notice(heads_of(d, {{"heads", "1"}}), "one"));
  CHECK(right_answer(eight, "mean") == "more");
  // One word: both heads give it all their weight.
  const LabResult one = heads_of(sentence_of("cat"));
  CHECK(right_answer(one, "mean").empty());
  CHECK_FALSE(has_notice(one, "mean"));
  // A head that is sure beside one that looks everywhere: the mean is between them.
  std::vector<std::string> answers;
  for (int seed = 1; seed <= 12; ++seed) {
    Document random = sentence_of("a b c");
    random.config.seed = static_cast<std::uint64_t>(seed);
    random.config.heads = 2, random.config.layers = 1;
    answers.push_back(right_answer(heads_of(random), "mean"));
  }
  CHECK(std::ranges::count(answers, "more") > 0);
  CHECK(std::ranges::count(answers, "between") > 0);
  Document still = d;
  still.config.mixer = MixerKind::kRecurrent;
  const LabResult none = heads_of(still);
  CHECK(none.notes.size() == 1);
  CHECK(right_answer(none, "mean").empty());
  CHECK(error_of([] { heads_of(sentence_of("")); }) != "");
}

TEST_CASE("labs: heads: training now gives what was kept, and can be stopped in the middle") {
  const Document d = sentence_of("a b");
  const LabResult kept = heads_of(d), live = heads_of(d, {{"run", "live"}});
  for (const char* name : {"one", "two"}) {
    const auto a = kept_curve(kept.trained, name, LabCurve::kLoss),
               b = kept_curve(live.trained, name, LabCurve::kLoss);
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < 4; ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-3));
  }
  int told = 0;
  CHECK_THROWS_AS(heads_of(d, {{"run", "live"}}, [&](const Progress&) { return ++told < 77; }),
                  Cancelled);
  CHECK(told == 77);
}

}  // namespace headlight::test_lab_heads
