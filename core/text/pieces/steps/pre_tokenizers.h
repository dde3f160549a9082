// Pre-tokenizers: how a text is cut into the words that a model then cuts into pieces. Types and
// meanings are those of tokenizer.json files.
#pragma once

#include <functional>
#include <vector>

#include "core/text/pieces/aligned_text.h"
#include "core/text/pieces/patterns.h"
#include "core/text/pieces/piece_json.h"

namespace headlight {

/// A text and its words, in order; what lies between them is dropped. No word is empty.
struct WordCut {
  AlignedText text;
  std::vector<ByteSpan> words;
};

/// Cuts words further; may be called by several threads. Bears any bytes.
using PreTokenizer = std::function<void(WordCut&)>;

/// Throws Error for what is not known, by name.
PreTokenizer read_pre_tokenizer(const PieceJson&);

/// What happens to a match and what stands around it.
enum class SplitBehaviour { kRemoved, kIsolated, kWithPrevious, kWithNext, kContiguous };

/// Cuts each word at the matches; `invert`: at what is no match.
void split_words(WordCut&, const PatternMatches&, SplitBehaviour, bool invert = false);

/// Whether the blank before a word becomes a mark, "▁"; and where one is put in front.
enum class Prepend { kAlways, kFirst, kNever };

}  // namespace headlight
