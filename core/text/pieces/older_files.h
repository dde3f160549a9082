// Tokenizer files of the time before tokenizer.json, written as one.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/text/pieces/piece_tokenizer.h"

namespace headlight {

/// What lies beside the main file; null where it does not.
struct OlderFiles {
  std::filesystem::path folder;
  nlohmann::json settings, added, config;  // tokenizer_config.json, added_tokens.json, config.json
};

/// Each throws Error that says what is wrong, and fills names that nothing said.
///
/// GPT-2's and RoBERTa's vocab.json and merges.txt.
nlohmann::json of_vocab_and_merges(std::string_view vocab, std::string_view merges,
                                   const OlderFiles&, SpecialNames&);
/// BERT's vocab.txt.
nlohmann::json of_vocab_txt(std::string_view vocab, const OlderFiles&, SpecialNames&);
/// SentencePiece's pieces, a list of texts: the later one stands, the later it was learned.
nlohmann::json of_pieces_list(std::string_view pieces, SpecialNames&);

}  // namespace headlight
