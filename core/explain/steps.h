// What a person reads about a step: its title, its formula, its sentence. Words come from the run:
// a sentence that the trace does not support is not made.
#pragma once

#include <string>
#include <string_view>

#include "core/base/texts.h"
#include "core/run/trace.h"

namespace headlight {

struct StepText {
  std::string_view title;    // "Scores"
  std::string_view hint;     // on the rail: "Q Kᵀ"
  std::string_view formula;  // markup: {q|Q} in the colour of Q, ^{T} raised, _{k} lowered
};

StepText step_text(Language, const Program&, const Step&);

/// Two plain sentences about this very run; `head` and `query` say which row is looked at.
std::string step_words(Language, const Trace&, const Step&, std::int64_t head, std::int64_t query);

/// What the step's output is called in figures: "S", "Q", "x". Captions read "Q (12 × 16)".
std::string_view tensor_symbol(std::string_view tensor_name);

}  // namespace headlight
