// Head scores on patterns made by hand, where the right answer is known.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/base/texts.h"
#include "core/train/heads/head_scores.h"

namespace headlight::test_head_scores {
namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

// A square pattern that is filled row by row.
struct Head {
  int n = 0;
  std::vector<int> ids;
  std::vector<float> weights, mask;

  explicit Head(std::vector<int> tokens, bool causal = true)
      : n(static_cast<int>(tokens.size())),
        ids(std::move(tokens)),
        weights(static_cast<std::size_t>(n * n)),
        mask(weights.size()) {
    for (int i = 0; i < n && causal; ++i) {
      for (int j = i + 1; j < n; ++j) mask[static_cast<std::size_t>(i * n + j)] = kForbidden;
    }
  }
  float& at(int i, int j) { return weights[static_cast<std::size_t>(i * n + j)]; }
  // What is missing to a whole row goes to key `to`.
  void rest(int i, int to) {
    float sum = 0;
    for (int j = 0; j < n; ++j) sum += at(i, j);
    at(i, to) += 1 - sum;
  }
  HeadPattern pattern() const { return {weights, n, n, ids, mask, {}}; }
  HeadScores scores() const { return head_scores(pattern()); }
};

std::vector<int> distinct(int n) {
  std::vector<int> ids;
  for (int i = 0; i < n; ++i) ids.push_back(i);
  return ids;
}

// Softmax of normal numbers times `sharpness`, as a causal head has it.
Head random_head(std::vector<int> ids, std::uint64_t key, double sharpness) {
  Head head(std::move(ids));
  for (int i = 0; i < head.n; ++i) {
    double sum = 0;
    for (int j = 0; j <= i; ++j) {
      const double x =
          std::exp(sharpness * normal(key, static_cast<std::uint64_t>(i * head.n + j)));
      head.at(i, j) = static_cast<float>(x);
      sum += x;
    }
    for (int j = 0; j <= i; ++j) head.at(i, j) = static_cast<float>(head.at(i, j) / sum);
  }
  return head;
}

}  // namespace

TEST_CASE("head scores: previous token, with and without a first token that swamps") {
  for (const float first : {0.0f, 0.5f, 0.75f}) {
    Head head(distinct(8));
    head.at(0, 0) = 1;
    for (int i = 1; i < 8; ++i) {
      head.at(i, 0) = first;
      head.rest(i, i - 1);
    }
    const HeadScores scores = head.scores();
    CHECK(scores[Badge::kPreviousToken].value == doctest::Approx(1));
    CHECK(scores[Badge::kPreviousToken].rows == 6);  // not query 0, nor query 1, whose is key 0
    CHECK(scores[Badge::kFirstToken].value == doctest::Approx((1 + 6 * first) / 7));
    CHECK(scores[Badge::kFirstToken].rows == 7);
    CHECK(scores[Badge::kSameToken].rows == 0);
    CHECK(scores[Badge::kInduction].rows == 0);
    CHECK(scores[Badge::kDiagonal].rows == 0);
    CHECK(best_badge(scores) == Badge::kPreviousToken);
  }
  // Half to the previous one, half to itself.
  Head head(distinct(8));
  for (int i = 0; i < 8; ++i) {
    head.at(i, i) = 0.5f;
    head.rest(i, std::max(0, i - 1));
  }
  CHECK(head.scores()[Badge::kPreviousToken].value == doctest::Approx(0.5));
  CHECK_FALSE(best_badge(head.scores()));
}

TEST_CASE("head scores: a head that rests on the first token is nothing else") {
  for (const float first : {1.0f, 0.95f}) {
    Head head(distinct(8));
    for (int i = 0; i < 8; ++i) {
      head.at(i, 0) = first;
      head.rest(i, std::max(0, i - 1));
    }
    const HeadScores scores = head.scores();
    // A quarter of the rows is the least that the little that is left is measured by.
    CHECK(scores[Badge::kPreviousToken].value == doctest::Approx((1 - first) / 0.25).epsilon(1e-5));
    CHECK(best_badge(scores) == Badge::kFirstToken);
  }
}

TEST_CASE("head scores: induction and same token on a repeated sequence") {
  const std::vector<int> ids = {9, 4, 7, 2, 5, 4, 7, 2, 5};  // 9, then twice 4 7 2 5
  Head induction(ids), same(ids);
  for (int i = 0; i < 9; ++i) {
    // What has not come before rests on the first token.
    induction.rest(i, i < 5 ? 0 : i - 3);
    same.rest(i, i < 5 ? 0 : i - 4);
  }
  CHECK(induction.scores()[Badge::kInduction] == HeadScore{1.0, 4});
  CHECK(induction.scores()[Badge::kSameToken] == HeadScore{0.0, 4});
  CHECK(induction.scores()[Badge::kPreviousToken].value == 0);
  CHECK(best_badge(induction.scores()) == Badge::kInduction);
  CHECK(same.scores()[Badge::kSameToken] == HeadScore{1.0, 4});
  CHECK(same.scores()[Badge::kInduction] == HeadScore{0.0, 4});
  CHECK(best_badge(same.scores()) == Badge::kSameToken);
  // Without a causal mask later places count as the same token, never for induction.
  Head both_ways(ids, false);
  for (int i = 0; i < 9; ++i) both_ways.rest(i, i == 0 ? 0 : i < 5 ? i + 4 : i - 4);
  CHECK(both_ways.scores()[Badge::kSameToken] == HeadScore{1.0, 8});
  CHECK(both_ways.scores()[Badge::kInduction].rows == 4);
  // Where all keys hold one word, whatever looks away from itself looks at that word: no choice.
  for (const bool causal : {true, false}) {
    const Head same_all({3, 3, 3, 3}, causal);
    CHECK(same_all.scores()[Badge::kSameToken].rows == 0);
    // What comes later than the query is another place than what followed before.
    CHECK(same_all.scores()[Badge::kInduction].rows == (causal ? 0 : 1));
  }
  // With another word among them queries 3 and 4 have one; what follows 3 is 3, 5 and 3.
  const Head nearly({3, 3, 5, 3, 3});
  CHECK(nearly.scores()[Badge::kSameToken].rows == 2);
  CHECK(nearly.scores()[Badge::kInduction].rows == 1);
}

TEST_CASE("head scores: current token, which the first one does not swamp") {
  Head head(distinct(8));
  for (int i = 0; i < 8; ++i) {
    head.at(i, 0) = i == 0 ? 0 : 0.4f;
    head.rest(i, i);
  }
  const HeadScores scores = head.scores();
  CHECK(scores[Badge::kCurrentToken].value == doctest::Approx(1));
  CHECK(scores[Badge::kCurrentToken].rows == 6);  // not query 0, nor query 1, which has no choice
  CHECK(scores[Badge::kPreviousToken].value == 0);
  CHECK(best_badge(scores) == Badge::kCurrentToken);
  // Cross-attention's queries are no places among its keys.
  CHECK(head_scores({head.weights, 8, 8, {}, {}, {}})[Badge::kCurrentToken].rows == 0);
}

TEST_CASE("head scores: uniform is measured against what the mask allows") {
  Head head(distinct(6));
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j <= i; ++j) head.at(i, j) = 1.0f / static_cast<float>(i + 1);
  }
  CHECK(head.scores()[Badge::kUniform].value == doctest::Approx(1));
  CHECK(head.scores()[Badge::kUniform].rows == 5);
  CHECK(best_badge(head.scores()) == Badge::kUniform);
  // The same numbers without the mask are far from even.
  HeadPattern open = head.pattern();
  open.mask = {};
  CHECK(head_scores(open)[Badge::kUniform].value < 0.7);
  // Half and half on two of four allowed keys: ln 2 / ln 4.
  Head halves(distinct(4), false);
  for (int i = 0; i < 4; ++i) halves.at(i, 1) = halves.at(i, 3) = 0.5f;
  CHECK(halves.scores()[Badge::kUniform].value == doctest::Approx(0.5));
}

TEST_CASE("head scores: diagonals of a copy and of a reversal") {
  // 6 inputs, a separator, and queries from 6 on that make the outputs.
  for (const bool reversed : {false, true}) {
    Head head(distinct(13));
    for (int i = 0; i < 13; ++i) {
      const int t = i - 6;
      head.rest(i, t < 0 || t >= 6 ? 0 : reversed ? 5 - t : t);
    }
    HeadPattern pattern = head.pattern();
    pattern.halves = Halves{.source = 0, .target = 6, .length = 6};
    const HeadScores scores = head_scores(pattern);
    const Badge right = reversed ? Badge::kAntiDiagonal : Badge::kDiagonal;
    const Badge wrong = reversed ? Badge::kDiagonal : Badge::kAntiDiagonal;
    CHECK(scores[right] == HeadScore{1.0, 5});  // the output of key 0 does not count
    CHECK(scores[wrong] == HeadScore{0.0, 5});
    CHECK(best_badge(scores) == right);
  }
  // Cross-attention: 3 queries on 4 keys, no tokens to compare.
  std::vector<float> cross(12);
  for (const int cell : {0 * 4 + 1, 1 * 4 + 2, 2 * 4 + 3})
    cross[static_cast<std::size_t>(cell)] = 1;
  const HeadScores scores = head_scores({cross, 3, 4, {}, {}, Halves{1, 0, 3}});
  CHECK(scores[Badge::kDiagonal] == HeadScore{1.0, 3});
  CHECK(scores[Badge::kAntiDiagonal].value == doctest::Approx(1.0 / 3));  // the middle
  CHECK(scores[Badge::kPreviousToken].rows == 0);
  CHECK(best_badge(scores) == Badge::kDiagonal);
}

TEST_CASE("head scores: rows with nothing allowed, no choice or no number are skipped") {
  Head head(distinct(8));
  for (int i = 0; i < 8; ++i) head.rest(i, std::max(0, i - 1));
  // Query 3 may look nowhere, query 5 only at its previous token, query 6 has a NaN.
  for (int j = 0; j < 8; ++j) {
    const auto row = [&](int i) { return static_cast<std::size_t>(i * 8 + j); };
    head.mask[row(3)] = kForbidden;
    head.weights[row(3)] = 0;
    if (j != 4) head.mask[row(5)] = kForbidden;
  }
  head.at(6, 2) = std::numeric_limits<float>::quiet_NaN();
  const HeadScores scores = head.scores();
  CHECK(scores[Badge::kPreviousToken] == HeadScore{1.0, 3});  // queries 2, 4 and 7
  CHECK(scores[Badge::kFirstToken].rows == 4);                // and 1
  CHECK(scores[Badge::kUniform] == HeadScore{0.0, 4});
  const HeadScores none = head_scores({});
  for (const HeadScore& score : none.all) CHECK(score == HeadScore{});
  CHECK_FALSE(best_badge(none));
  HeadPattern wrong = head.pattern();
  wrong.keys = 7;
  CHECK_THROWS_AS(head_scores(wrong), Error);
}

TEST_CASE("head scores: random patterns get no badge, and every score stays within 0 and 1") {
  for (const int n : {12, 24, 60}) {
    for (const double sharpness : {1.0, 2.0, 4.0}) {
      for (std::uint64_t seed = 0; seed < 40; ++seed) {
        CAPTURE(n);
        CAPTURE(sharpness);
        CAPTURE(seed);
        std::vector<int> ids = distinct(n);
        for (int i = n / 2; i < n; ++i) {
          ids[static_cast<std::size_t>(i)] = ids[static_cast<std::size_t>(i - n / 2)];
        }
        const Head head = random_head(ids, scatter(seed), sharpness);
        HeadPattern pattern = head.pattern();
        pattern.halves = Halves{0, n / 2, n / 2};
        const HeadScores scores = head_scores(pattern);
        for (const HeadScore& score : scores.all) CHECK((score.value >= 0 && score.value <= 1));
        const std::optional<Badge> badge = best_badge(scores);
        CHECK_MESSAGE(!badge, (badge ? badge_info(*badge).word : ""));
      }
    }
  }
}

TEST_CASE("head scores: badges are told by enough rows and the furthest score") {
  HeadScores scores;
  scores[Badge::kInduction] = {1.0, kBadgeRows - 1};
  CHECK_FALSE(best_badge(scores));
  scores[Badge::kInduction] = {0.7, kBadgeRows};
  CHECK(best_badge(scores) == Badge::kInduction);
  scores[Badge::kPreviousToken] = {0.7, 10};  // as far: the more particular one stays
  CHECK(best_badge(scores) == Badge::kInduction);
  scores[Badge::kPreviousToken] = {0.8, 10};
  CHECK(best_badge(scores) == Badge::kPreviousToken);
  scores[Badge::kUniform] = {0.99, 10};  // three quarters of the way, against half
  CHECK(best_badge(scores) == Badge::kUniform);
  std::set<std::string_view> words;
  for (const BadgeInfo& info : badges()) {
    CHECK(&badge_info(info.badge) == &info);
    CHECK(words.insert(info.word).second);
    for (const Language language : {Language::kEnglish, Language::kChinese}) {
      CHECK(tr(language, info.label) != info.label);
      CHECK(tr(language, info.help) != info.help);
    }
  }
  CHECK(words.size() == kBadgeCount);
}

}  // namespace headlight::test_head_scores
