// Tokens that a model does not know: which ones, and how that is said.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/message.h"
#include "core/text/vocabulary.h"

namespace headlight {

inline constexpr std::size_t kMostUnknown = 64;

/// The tokens of a text that are not in the vocabulary, or what the tokenizer of a model's folder
/// has no pieces for, each once, the first kMostUnknown. `kept` as for Vocabulary::encode().
std::vector<std::string> unknown_tokens(const Vocabulary&, std::string_view text,
                                        Tokenizer* kept = nullptr);

/// Are its tokens nothing but ids, each the number of its row?
bool holds_ids_alone(const Vocabulary&);

/// The first few of them, as a text names them: 'zebra', 'gnu' …
std::string unknown_names(std::span<const std::string> unknown);

/// Which ones, what is there instead, and what to do; `id` is "vocabulary.unknown_token" or another
/// text with the same slots.
Message unknown_message(std::string id, const Vocabulary&, std::span<const std::string> unknown);

}  // namespace headlight
