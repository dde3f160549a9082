// Small tokenizers for tests, made by hand.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/text/pieces/piece_tokenizer.h"
#include "core/text/pieces/piece_unicode.h"

namespace headlight::test {

using Json = nlohmann::json;

/// A tokenizer.json of this model and these other members.
inline Json tokenizer_of(Json model, const Json& others = Json::object()) {
  Json all = {{"version", "1.0"}, {"added_tokens", Json::array()}, {"model", std::move(model)}};
  all.update(others);
  return all;
}

inline PieceTokenizer opened(const Json& json) { return PieceTokenizer::from_json(json.dump()); }

/// Ids 0, 1, … for these pieces.
inline Json vocab_of(const std::vector<std::string>& pieces) {
  Json vocab = Json::object();
  for (std::size_t id = 0; id < pieces.size(); ++id) vocab[pieces[id]] = id;
  return vocab;
}

inline Json whole_words(const std::vector<std::string>& pieces) {
  return {{"type", "WordLevel"}, {"vocab", vocab_of(pieces)}, {"unk_token", pieces[0]}};
}

inline Json added(int id, const std::string& content, const Json& others = Json::object()) {
  Json token = {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
                {"rstrip", false}, {"normalized", false}, {"special", true}};
  token.update(others);
  return token;
}

inline std::vector<int> ids_of(const std::vector<PlacedToken>& tokens) {
  std::vector<int> ids;
  for (const PlacedToken& token : tokens) ids.push_back(token.id);
  return ids;
}

/// The written pieces of a text, with single blanks between them.
inline std::string cut_of(const PieceTokenizer& tokenizer, const std::string& text) {
  std::string all;
  for (const PlacedToken& token : tokenizer.encode(text, false))
    all += (all.empty() ? "" : " ") + tokenizer.written(token.id);
  return all;
}

/// The 256 bytes and some merges, as GPT-2's files have them.
inline Json byte_level_vocab() {
  std::vector<std::string> pieces;
  for (int byte = 0; byte < 256; ++byte)
    pieces.push_back(as_byte_characters(std::string(1, static_cast<char>(byte))));
  for (const char* made : {"he", "ll", "hell", "hello", "\u0120w", "\u00C3\u00A9"})
    pieces.emplace_back(made);
  return vocab_of(pieces);
}
inline const std::vector<std::string> kByteMerges = {"h e",    "l l",      "he ll",
                                                     "hell o", "\u0120 w", "\u00C3 \u00A9"};

}  // namespace headlight::test
