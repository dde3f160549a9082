// How the angles of rotary positions are made smaller, for texts longer than those that a model
// first learned from.
#pragma once

#include <cstdint>

namespace headlight {

/// As `rope_scaling` of Llama's configs:
///   kLinear  every angle is divided by the factor (Chen et al. 2023, "Extending context window of
///            large language models via positional interpolation")
///   kLlama3  slow pairs, whose wavelength 2π / rate is above context / low, are divided by the
///            factor; fast ones, below context / high, stay; between them both are mixed
///            (Llama 3.1)
enum class RotaryScaling { kNone, kLinear, kLlama3 };

struct RotaryStretch {
  RotaryScaling kind = RotaryScaling::kNone;
  double factor = 1;
  double low = 1, high = 4;     // kLlama3, and the next one
  std::int64_t context = 8192;  // tokens of the texts that the model first learned from
  bool operator==(const RotaryStretch&) const = default;
};

/// Radians that pair i of so many turns from one position to the next: base^(−i / pairs), made
/// smaller.
double rotary_rate(double base, const RotaryStretch&, std::int64_t i, std::int64_t pairs);

}  // namespace headlight
