// Sampling: from logits to the next token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headlight {

struct SamplingOptions {
  double temperature = 1;  // 0: always the most probable
  std::int64_t top_k = 0;  // 0: all
  double top_p = 1;        // 1: all
  bool operator==(const SamplingOptions&) const = default;
};

/// Throws UsageError for numbers out of range.
void validate(const SamplingOptions&);

struct TokenChance {
  int id = 0;
  double probability = 0;
  bool operator==(const TokenChance&) const = default;
};

/// The tokens that may be drawn, most probable first (equal ones by id), with probabilities that
/// add up to 1. p = softmax(logits / temperature) over all logits; a token is kept when it is
///
///   top-k  among the k most probable, and
///   top-p  in the smallest set of most probable tokens whose p, over all logits, add up to top_p
///   or
///          more (Holtzman et al. 2020, equation 2); at least one
///
/// so the two do not depend on each other's cut; what is kept is divided by its sum. A temperature
/// of 0 keeps the most probable alone. A logit of −∞ is never kept. Throws UsageError (validate)
/// and Error for logits that are NaN or +∞, all −∞, or none at all.
std::vector<TokenChance> token_chances(std::span<const float> logits, const SamplingOptions&);

/// Which of these is drawn: a pure function of the seed and the number of the draw.
int draw_token(std::span<const TokenChance>, std::uint64_t seed, std::uint64_t draw);

/// What was drawn, and from what.
struct SampledToken {
  int id = 0;
  std::vector<TokenChance> kept;
};
SampledToken sample_token(std::span<const float> logits, const SamplingOptions&, std::uint64_t seed,
                          std::uint64_t draw);

}  // namespace headlight
