// What a person reads about a step: its title, its formula, its sentence and what is said at
// length. Words come from the run: a sentence that the trace does not support is not made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/texts.h"
#include "core/run/trace.h"

namespace headlight {

struct StepText {
  std::string_view title;  // "Scores"
  std::string hint;        // the rest as in StepWords, with the symbols of the program's tensors
  std::string formula;
};

StepText step_text(Language, const Program&, const Step&);
std::string_view step_title(Language, const Step&);

/// "decoder · layer 0 · cross-attention": where the step belongs; empty outside the layers of a
/// model with one stack. Seen from another place without what both have in common, but the layer.
std::string step_place(Language, const Step&, const Place* from = nullptr);

/// Two plain sentences about this very run; `head` and `query` say which row is looked at.
std::string step_sentence(Language, const Trace&, const Step&, std::int64_t head,
                          std::int64_t query);

/// A piece of running words; a link when `tensor` is set.
struct WordPiece {
  std::string text;
  TensorId tensor = -1;
};

/// What the step does, why, and what it did with the token that is looked at, with the names of
/// tensors as links. Paragraphs are parted by a piece that is "\n".
std::vector<WordPiece> step_paragraphs(Language, const Trace&, const Step&, std::int64_t head,
                                       std::int64_t query);

}  // namespace headlight
