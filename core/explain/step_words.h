// Two or three plain sentences about a step of this very run, in which the names of tensors are
// links: what happens, why, and what it did with the token that is looked at. Whatever they say
// comes from the trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/texts.h"
#include "core/run/trace.h"

namespace headlight {

/// A piece of running words; a link when `tensor` is set.
struct WordPiece {
  std::string text;
  TensorId tensor = -1;
};

/// The sentences about `step`; `head` and `query` say which row is looked at. Paragraphs are parted
/// by a piece that is "\n".
std::vector<WordPiece> block_words(Language, const Trace&, const Step&, std::int64_t head,
                                   std::int64_t query);

}  // namespace headlight
