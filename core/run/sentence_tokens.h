// Between a sentence and the tokens of its trace: where each stands in the text, and the text with
// one more.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/document/document.h"
#include "core/model/model.h"
#include "core/run/trace.h"

namespace headlight {

/// Where the sentence's tokens stand in it: byte ranges, in the order of Trace's tokens; of an
/// encoder-decoder, `source` and what is given as its own row. [BOS], [CLS] and the [SEP] at the
/// end, which nobody wrote, stand nowhere: begin = end = 0. Empty where the model cannot read
/// it. `kept`: a tokenizer to use again, of any kind.
struct SentenceTokens {
  std::vector<PlacedToken> tokens;  // ids as the model's; 0 in the sandbox
  std::vector<PlacedToken> source;
};
SentenceTokens sentence_tokens(const Document&, const Model*, std::optional<Tokenizer>& kept);

/// The document's sentence with this entry of the vocabulary behind it, or in the place of the
/// [MASK] at `masked`. Nothing where no text stands for it: [EOS], a part of a character.
std::optional<std::string> sentence_with(const Document&, const Trace&, const Model*, int id,
                                         std::optional<std::int64_t> masked);

/// The same behind a sentence that a model reads as this row of ids.
std::optional<std::string> sentence_with(const std::string& sentence, std::span<const int> row,
                                         const Vocabulary&, int id);

}  // namespace headlight
