// Tokenizer files of the time before tokenizer.json, written as one.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/pieces/piece_tokenizer.h"

namespace headlight {

/// What lies beside the main file; null where it does not.
struct OlderFiles {
  std::filesystem::path folder;
  nlohmann::json settings, added, config;  // tokenizer_config.json, added_tokens.json, config.json
  std::vector<std::string> more_special;   // special_tokens_map.json's additional_special_tokens
};

/// Which tokenizer the files are of: the class that the settings name, or config.json, without the
/// "Fast" behind it; else the type of the model that they lie beside. May be empty.
std::string kind_of_files(const OlderFiles&);

/// An entry of a tokenizer.json's added_tokens.
nlohmann::json added_token_json(int id, const std::string& content, bool special,
                                bool left_blanks = false);
/// Appends every way to make `piece` of two others; `ids` by piece.
void append_merges(const std::string& piece, const nlohmann::json& ids, nlohmann::json& merges);

/// Each throws Error that says what is wrong, and fills names that nothing said.
///
/// The id of a token by its text, wherever a tokenizer.json lists it: among those that were added,
/// or in the vocabulary of its model.
std::optional<int> id_of_token(const nlohmann::json& tokenizer, const std::string& text);

/// Adds to a tokenizer.json the tokens of its vocabulary that only the files beside it call special
/// or added: they are found in a text as its own added tokens are. Throws Error.
void add_missing_tokens(const OlderFiles&, const SpecialNames&, nlohmann::json& tokenizer);

/// The lines of GPT-2's and RoBERTa's merges.txt.
nlohmann::json read_merge_lines(std::string_view merges);
/// Their vocab.json and those lines.
nlohmann::json of_vocab_and_merges(std::string_view vocab, nlohmann::json merges, const OlderFiles&,
                                   SpecialNames&);
/// BERT's vocab.txt.
nlohmann::json of_vocab_txt(std::string_view vocab, const OlderFiles&, SpecialNames&);
/// SentencePiece's pieces, a list of texts: the later one stands, the later it was learned.
nlohmann::json of_pieces_list(std::string_view pieces, SpecialNames&);

}  // namespace headlight
