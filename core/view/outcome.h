// What a model says of the sentence: the next token, the hidden word, the class.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/run/trace.h"

namespace headlight {

struct Outcome {
  std::span<const float> probabilities;  // empty where there is no trace
  TensorId tensor = -1;                  // whose row they are
  std::int64_t position = 0;             // of the token that says it, the row
  bool classes = false;                  // of the whole sentence
  bool hidden = false;                   // of the [MASK] that stands there
};

/// Behind the last token; of a sentence with [MASK]s what the one at `asked` hides, else the first.
Outcome outcome_of(const Trace*, std::optional<std::int64_t> asked = std::nullopt);

/// The axis of its entries: tokens of the vocabulary, or classes.
inline std::string_view entries_of(const Outcome& o) { return o.classes ? "class" : "vocab"; }

/// The ids of the `count` most probable entries, most probable first; equal ones by id.
std::vector<int> most_probable(std::span<const float> probabilities, std::size_t count);

/// "0.412", "<0.001"; 1.000 only where it is nearly that.
std::string share_text(double probability);

}  // namespace headlight
