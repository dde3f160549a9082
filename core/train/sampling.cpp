#include "core/train/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/train/optim/check_number.h"

namespace headlight {
namespace {

// Sums of probabilities miss by rounding: 8 times 0.1 is a little under 0.8. Logits are float32 and
// know no probability better than this.
constexpr double kSlack = 1e-9;

void check_logits(std::span<const float> logits) {
  const auto refuse = [](const char* id, std::ptrdiff_t place) {
    throw Error(Message{id, {{"id", std::to_string(place)}}});
  };
  if (logits.empty()) throw Error(Message{"sampling.no_logits"});
  const auto nan =
      std::find_if(logits.begin(), logits.end(), [](float x) { return std::isnan(x); });
  if (nan != logits.end()) refuse("sampling.nan", nan - logits.begin());
  const auto most = std::max_element(logits.begin(), logits.end());
  if (*most == std::numeric_limits<float>::infinity()) {
    refuse("sampling.infinite", most - logits.begin());
  }
  if (std::isinf(*most)) throw Error(Message{"sampling.all_forbidden"});
}

}  // namespace

void validate(const SamplingOptions& o) {
  expect_number("quantity.sampling_temperature", o.temperature, 0, 1000, 1);
  expect_number("quantity.top_k", static_cast<double>(o.top_k), 0, 1e9, 0);
  expect_number("quantity.top_p", o.top_p, 0, 1, 1);
}

std::vector<TokenChance> token_chances(std::span<const float> logits,
                                       const SamplingOptions& options) {
  validate(options);
  check_logits(logits);
  const double most = *std::max_element(logits.begin(), logits.end());
  std::vector<TokenChance> kept;
  double total = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double below = static_cast<double>(logits[i]) - most;  // 0 or less
    if (std::isinf(below)) continue;
    const double weight = options.temperature > 0 ? std::exp(below / options.temperature)
                                                  : static_cast<double>(below == 0);
    kept.push_back({static_cast<int>(i), weight});
    total += weight;
  }
  std::stable_sort(kept.begin(), kept.end(), [](const TokenChance& a, const TokenChance& b) {
    return a.probability > b.probability;
  });
  std::size_t count = kept.size();
  if (options.top_k > 0) count = std::min(count, static_cast<std::size_t>(options.top_k));
  if (options.temperature == 0) count = 1;
  double share = 0;
  for (std::size_t i = 0; i < count && options.top_p < 1; ++i) {
    share += kept[i].probability / total;
    if (share >= options.top_p - kSlack) count = i + 1;
  }
  kept.resize(count);
  double sum = 0;
  for (const TokenChance& chance : kept) sum += chance.probability;
  for (TokenChance& chance : kept) chance.probability /= sum;
  return kept;
}

int draw_token(std::span<const TokenChance> chances, std::uint64_t seed, std::uint64_t draw) {
  double sum = 0;
  for (const TokenChance& chance : chances) sum += chance.probability;
  const double point = sum * uniform(scatter(seed ^ hash_text("sampling")), draw);
  double before = 0;
  int id = -1;
  for (const TokenChance& chance : chances) {
    if (chance.probability <= 0) continue;
    id = chance.id;  // the last one stands where rounding leaves the point past all of them
    before += chance.probability;
    if (point < before) break;
  }
  return id;
}

SampledToken sample_token(std::span<const float> logits, const SamplingOptions& options,
                          std::uint64_t seed, std::uint64_t draw) {
  SampledToken sample;
  sample.kept = token_chances(logits, options);
  sample.id = draw_token(sample.kept, seed, draw);
  return sample;
}

}  // namespace headlight
