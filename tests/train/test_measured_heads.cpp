// Scores over many sentences are the means of what each sentence's own run says.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "core/model/bundled.h"
#include "core/train/heads/measured_heads.h"
#include "core/train/heads/trace_heads.h"
#include "core/train/model_recipe.h"

namespace headlight::test_measured_heads {
namespace {

Document shown(const std::shared_ptr<const Model>& model) {
  return apply(Document{}, choose_model(Document{}, *model));
}

std::shared_ptr<const Trace> run(Document document, const std::string& sentence,
                                 const std::shared_ptr<const Model>& model) {
  document.sentence = sentence;
  const auto backend = make_reference_backend();
  const RunResult result = Runner().run(document, *backend, model);
  REQUIRE(result.trace);
  return result.trace;
}

// What it says after so many sentences, beside runs on the other backend.
void check_means(const Document& document, const std::shared_ptr<const Model>& model,
                 std::size_t count) {
  HeadMeasurement measurement(document, model);
  const std::vector<MeasuredSentence> sentences = measured_sentences(model.get());
  REQUIRE(measurement.count() == sentences.size());
  std::map<std::pair<std::size_t, std::size_t>, std::array<std::pair<double, double>, kBadgeCount>>
      sums;
  for (std::size_t i = 0; i < count; ++i) {
    measurement.step();
    const TraceHeads own =
        score_heads(*run(document, sentences[i].text, model), sentences[i].halves);
    for (std::size_t row = 0; row < own.scores.size(); ++row) {
      for (std::size_t head = 0; head < own.scores[row].size(); ++head) {
        for (std::size_t b = 0; b < kBadgeCount; ++b) {
          const HeadScore& score = own.scores[row][head].all[b];
          sums[{row, head}][b].first += score.value * static_cast<double>(score.rows);
          sums[{row, head}][b].second += static_cast<double>(score.rows);
        }
      }
    }
  }
  CHECK(measurement.done() == count);
  const MeasuredHeads heads = measurement.result();
  CHECK(heads.sentences == count);
  CHECK(heads.first == sentences[0].text);
  for (const auto& [place, badges] : sums) {
    for (std::size_t b = 0; b < kBadgeCount; ++b) {
      const HeadScore& mean = heads.scores[place.first][place.second].all[b];
      CHECK(static_cast<double>(mean.rows) == badges[b].second);
      if (mean.rows > 0)
        CHECK(mean.value == doctest::Approx(badges[b].first / badges[b].second).epsilon(1e-4));
    }
  }
}

}  // namespace

TEST_CASE("measured heads: means over all rows, of every kind of model, as it is set") {
  for (const char* name : {"reverse", "dates", "masked", "sentiment"}) {
    CAPTURE(name);
    const auto model = load_model(std::string(kBundledRef) + name);
    check_means(shown(model), model, 5);
  }
  const auto induction = load_model("bundled:induction");
  Document document = shown(induction);
  document.config.mask.kind = MaskKind::kNone;
  document.config.positions = PositionKind::kNone;
  check_means(document, induction, 3);
  document = Document{};
  document.config.layers = 1;
  document.max_tokens = 2;  // for the shown sentence; it cuts none of these
  HeadMeasurement sandbox(document, nullptr);
  sandbox.step();
  CHECK(sandbox.result().scores.size() == 1);
  CHECK(sandbox.result().scores[0][0][Badge::kUniform].rows > 2);
  CHECK(sandbox.result().claims.empty());
}

TEST_CASE(
    "measured heads: of a model that writes, scores are of its texts, claims of their rules") {
  const auto model = load_model("bundled:stories");
  std::vector<MeasuredSentence> sentences = measured_sentences(model.get());
  const auto text = std::ranges::find_if(sentences, &MeasuredSentence::written);
  REQUIRE(text != sentences.end());
  HeadMeasurement measurement(shown(model), model);
  while (static_cast<std::ptrdiff_t>(measurement.done()) < text - sentences.begin())
    measurement.step();
  CHECK(measurement.result().scores.empty());
  CHECK(measurement.result().first == "");
  const std::vector<HeadClaim>& claims = bundled_recipe("stories").claims;
  for (std::size_t c = 0; c < claims.size(); ++c)
    CHECK(measurement.result().claims[c].has_value() == !claims[c].patterns.empty());
  measurement.step();
  const MeasuredHeads heads = measurement.result();
  CHECK(heads.written == 1);
  CHECK(heads.first.starts_with(text->text));
  CHECK(model->vocabulary->encode(heads.first).size() > 30);
  const TraceHeads own = score_heads(*run(shown(model), heads.first, model));
  REQUIRE(heads.scores.size() == own.scores.size());
  for (std::size_t row = 0; row < own.scores.size(); ++row) {
    for (std::size_t head = 0; head < own.scores[row].size(); ++head) {
      const HeadScore& a = heads.scores[row][head][Badge::kFirstToken];
      const HeadScore& b = own.scores[row][head][Badge::kFirstToken];
      CHECK(a.rows == b.rows);
      CHECK(a.value == doctest::Approx(b.value).epsilon(1e-4));
    }
  }
}

TEST_CASE("measured heads: a model that reads a row backwards has its diagonal") {
  const auto model = load_model("bundled:reverse");
  HeadMeasurement measurement(shown(model), model);
  CHECK(measurement.count() == 200);
  while (measurement.done() < measurement.count()) measurement.step();
  double largest = 0;
  for (const auto& row : measurement.result().scores) {
    for (const HeadScores& head : row) {
      CHECK(head[Badge::kAntiDiagonal].rows > 200);
      largest = std::max(largest, head[Badge::kAntiDiagonal].value);
    }
  }
  CHECK(largest >= badge_info(Badge::kAntiDiagonal).threshold);
}

TEST_CASE("measured heads: the sentences are such as the model was made for") {
  for (const BundledModel& bundled : bundled_models()) {
    const auto model = load_model(std::string(kBundledRef) + std::string(bundled.name));
    CAPTURE(model->name);
    std::set<std::string> different;
    for (const MeasuredSentence& s : measured_sentences(model.get())) {
      CHECK(knows(*model, s.text));
      different.insert(s.text);
    }
    CHECK(different.size() >= 100);
  }
  // One of the person's own begins with those of the rules' sentences that it cuts into the fewest
  // tokens, and goes on by itself.
  for (const char* name : {"stories", "poems"}) {
    CAPTURE(name);
    auto own = std::make_shared<Model>(*load_model(std::string(kBundledRef) + name));
    own->ref = "/somewhere/else";
    const std::vector<MeasuredSentence> sentences = measured_sentences(own.get());
    CHECK(sentences.size() == 24);
    for (const MeasuredSentence& s : sentences) {
      const bool ascii = std::ranges::all_of(s.text, [](char c) { return c > 0; });
      CHECK(ascii == (name[0] == 's'));
      CHECK(s.claim == -1);
      CHECK(s.written);
    }
  }
  CHECK(measured_sentences(nullptr).size() >= 200);
  auto strange = std::make_shared<Model>(*load_model("bundled:induction"));
  strange->ref = "/somewhere/else";
  strange->file.task = "";
  // No sentence of ours is in its words: it begins with each of some tokens.
  const std::vector<MeasuredSentence> from_tokens = measured_sentences(strange.get());
  CHECK(from_tokens.size() > 2);
  for (const MeasuredSentence& s : from_tokens) CHECK(s.written);
  auto classifier = std::make_shared<Model>(*load_model("bundled:sentiment"));
  classifier->ref = "/somewhere/else";
  classifier->file.task = "";
  CHECK(measured_sentences(classifier.get()).empty());
}

}  // namespace headlight::test_measured_heads
