// What logits say of a target.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace headlight {

/// −log softmax at the target, in nats.
inline double nats_of(std::span<const float> logits, int target) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  return std::log(sum) + largest - static_cast<double>(logits[static_cast<std::size_t>(target)]);
}

/// Where the largest is, of equal ones the first.
inline int largest_of(std::span<const float> logits) {
  return static_cast<int>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

/// Is `id` what largest_of() gives? Looks at all of them, which goes by whole vectors, where
/// leaving at the first that is larger does not.
inline bool is_largest(std::span<const float> logits, std::size_t id) {
  int larger = 0;
  for (std::size_t i = 0; i < id; ++i) larger += !(logits[i] < logits[id]);
  for (std::size_t i = id + 1; i < logits.size(); ++i) larger += logits[id] < logits[i];
  return larger == 0;
}

}  // namespace headlight
