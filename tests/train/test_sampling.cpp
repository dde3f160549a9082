// Sampling: which tokens are kept, with which probability, and how often each is drawn.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/train/metrics/likelihood.h"
#include "core/train/sampling.h"

namespace headlight::test_sampling {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> logits_of(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

std::vector<int> ids(const std::vector<TokenChance>& kept) {
  std::vector<int> list;
  for (const TokenChance& chance : kept) list.push_back(chance.id);
  return list;
}

std::vector<int> kept_ids(const std::vector<double>& probabilities, SamplingOptions options) {
  return ids(token_chances(logits_of(probabilities), options));
}

std::string error_of(const std::vector<float>& logits, const SamplingOptions& options = {}) {
  try {
    (void)token_chances(logits, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("likelihood: the largest of a row is one alone, of equal ones the first") {
  for (std::uint64_t n = 1; n < 70; ++n) {
    for (const std::uint64_t levels : {1, 2, 5, 1000}) {
      std::vector<float> row;
      for (std::uint64_t i = 0; i < n; ++i)
        row.push_back(static_cast<float>(scatter(n * 1000 + i * 7 + levels) % levels) - 3.0f);
      const auto largest = static_cast<std::size_t>(largest_of(row));
      for (std::size_t i = 0; i < n; ++i) CHECK(is_largest(row, i) == (i == largest));
    }
  }
}

TEST_CASE("sampling: probabilities are softmax(logits / T), the most probable first") {
  const std::vector<float> logits = {1, 3, 2, -kInfinity, 3};
  for (const double t : {0.5, 1.0, 2.0}) {
    double sum = 0;
    for (const float x : logits) sum += std::exp(x / t);
    const auto kept = token_chances(logits, {.temperature = t});
    CHECK(ids(kept) == std::vector<int>{1, 4, 2, 0});
    for (const TokenChance& chance : kept) {
      const double x = logits[static_cast<std::size_t>(chance.id)];
      CHECK(chance.probability == doctest::Approx(std::exp(x / t) / sum));
    }
  }
  // T = 0: the first of the largest; small T comes to the same where they differ.
  CHECK(token_chances(logits, {.temperature = 0}) == std::vector<TokenChance>{{1, 1.0}});
  const auto cold = token_chances(std::vector<float>{88, -88, 87}, {.temperature = 1e-300});
  CHECK(cold[0] == TokenChance{0, 1.0});
  CHECK(draw_token(cold, 1, 1) == 0);
}

TEST_CASE("sampling: top-k") {
  const std::vector<double> p = {0.1, 0.4, 0.2, 0.3};
  CHECK(kept_ids(p, {.top_k = 1}) == std::vector<int>{1});
  CHECK(kept_ids(p, {.top_k = 3}) == std::vector<int>{1, 3, 2});
  CHECK(kept_ids(p, {.top_k = 4}).size() == 4);
  CHECK(kept_ids(p, {.top_k = 1000000}).size() == 4);
  CHECK(kept_ids({0.25, 0.25, 0.25, 0.25}, {.top_k = 2}) == std::vector<int>{0, 1});
  const auto two = token_chances(logits_of(p), {.top_k = 2});
  CHECK(two[0].probability == doctest::Approx(4.0 / 7));
  CHECK(two[1].probability == doctest::Approx(3.0 / 7));
}

TEST_CASE("sampling: top-p is measured over all logits") {
  const std::vector<double> p = {0.1, 0.4, 0.2, 0.3};
  CHECK(kept_ids(p, {.top_p = 0}) == std::vector<int>{1});
  CHECK(kept_ids(p, {.top_p = 0.39}) == std::vector<int>{1});
  CHECK(kept_ids(p, {.top_p = 0.41}) == std::vector<int>{1, 3});
  CHECK(kept_ids(p, {.top_p = 0.71}) == std::vector<int>{1, 3, 2});
  CHECK(kept_ids(p, {.top_p = 1}).size() == 4);
  // In a list cut to two before, the first alone would have 4/7 and be enough.
  CHECK(kept_ids(p, {.top_k = 2, .top_p = 0.5}) == std::vector<int>{1, 3});
  CHECK(kept_ids(p, {.top_k = 3, .top_p = 0.41}) == std::vector<int>{1, 3});
  CHECK(kept_ids(p, {.top_k = 1, .top_p = 0.9}) == std::vector<int>{1});
  // Equal ones by id, and a sum that is reached exactly is reached: 8 × 0.1 is not 0.8 in binary.
  const std::vector<double> equal(10, 0.1);
  CHECK(kept_ids(equal, {.top_p = 0.8}) == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(kept_ids(equal, {.top_p = 0.81}).size() == 9);
  CHECK(kept_ids(equal, {.top_p = 0}) == std::vector<int>{0});
  // The temperature comes first: a hot softmax needs more tokens.
  CHECK(kept_ids(p, {.temperature = 100, .top_p = 0.71}).size() == 3);
  CHECK(kept_ids(p, {.temperature = 0.1, .top_p = 0.71}).size() == 1);
}

TEST_CASE("sampling: tokens are drawn as often as they are probable") {
  const auto kept = token_chances(logits_of({0.05, 0.5, 0.15, 0.3}), {.top_k = 3});
  constexpr int kDraws = 40000;
  std::map<int, int> drawn;
  for (int i = 0; i < kDraws; ++i) ++drawn[draw_token(kept, 7, static_cast<std::uint64_t>(i))];
  CHECK(drawn.size() == 3);
  for (const TokenChance& chance : kept) {
    const double expected = chance.probability * kDraws;
    // Five deviations of a binomial count.
    CHECK(std::fabs(drawn[chance.id] - expected) < 5 * std::sqrt(expected));
  }
  std::set<std::vector<int>> runs;
  for (const std::uint64_t seed : {1ull, 2ull, 1ull}) {
    std::vector<int> run;
    for (std::uint64_t i = 0; i < 30; ++i) {
      run.push_back(sample_token(logits_of({0.3, 0.4, 0.3}), {}, seed, i).id);
    }
    runs.insert(run);
  }
  CHECK(runs.size() == 2);  // one for each seed
}

TEST_CASE("sampling: what cannot be drawn from is refused") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(contains(error_of({1, 2, nan}), "token 2 is NaN"));
  CHECK(contains(error_of({1, kInfinity}), "token 1 is infinite"));
  CHECK(contains(error_of({-kInfinity, -kInfinity}), "every token is forbidden"));
  CHECK(contains(error_of({}), "no logits"));
  CHECK(contains(error_of({1}, {.temperature = -1}), "sampling temperature must be between 0"));
  CHECK(contains(error_of({1}, {.temperature = nan}), "got NaN"));
  CHECK(contains(error_of({1}, {.top_k = -1}), "top-k"));
  CHECK(contains(error_of({1}, {.top_p = 1.5}), "top-p must be between 0 and 1"));
  CHECK(error_of({1}).empty());
}

}  // namespace headlight::test_sampling
