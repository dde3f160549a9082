// The expressions that most byte-level tokenizers cut by, matched by hand: a few times faster than
// by a library of regular expressions.
#pragma once

#include <vector>

#include "core/text/pieces/patterns.h"

namespace headlight {

/// Appends the matches of kGpt2Pattern. They tile the text; what is no UTF-8 is neither letter,
/// number nor white space.
void gpt2_matches(std::string_view text, std::vector<ByteSpan>& matches);
/// Of kLlama3Pattern with at most `digits` digits together: 3, or 1 as in kQwen2Pattern.
void llama3_matches(std::string_view text, int digits, std::vector<ByteSpan>& matches);

}  // namespace headlight
