// Vocabularies as JSON: for eyes as well, so byte-pair tokens are written out beside their merges,
// and must agree with them when they are read.
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/io/json_numbers.h"
#include "core/text/pieces/piece_json.h"
#include "core/text/pieces/piece_tokenizer.h"
#include "core/text/vocabulary.h"

namespace headlight {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;
constexpr std::size_t kPerLine = 12;
constexpr std::string_view kFormat = "headlight vocabulary";

template <class Item>
std::string list_text(std::size_t count, Item item) {
  std::string text = "[";
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text += i % kPerLine == 0 ? ",\n    " : ", ";
    text += item(i);
  }
  return text + "]";
}

[[noreturn]] void fail(const std::string& key, const Message& expected, const Json& got) {
  std::string text = got.dump(-1, ' ', false, Json::error_handler_t::replace);
  throw Error(Message{"vocabulary.wrong_value",
                      {{"key", key}, {"got", shortened(clean_utf8(text).text, 40)}}}
                  .with(expected));
}

const Json& member(const Json& json, const char* key, const Message& expected) {
  const auto at = json.find(key);
  if (at == json.end()) throw Error(Message{"vocabulary.missing", {{"key", key}}}.with(expected));
  return *at;
}

Json parse(std::string_view text) {
  // nlohmann's parser is recursive; a vocabulary nests three deep, a tokenizer of pieces more.
  const auto shallow = [](int level, Json::parse_event_t, Json&) {
    if (level > 64) throw Error(Message{"vocabulary.too_deep"});
    return true;
  };
  try {
    return Json::parse(text, shallow);
  } catch (const Json::exception& error) {
    throw Error(json_problem("vocabulary.not_json", error));
  }
}

void check_frame(const Json& json) {
  const auto format = json.is_object() ? json.find("format") : json.end();
  if (!json.is_object() || format == json.end() || *format != kFormat)
    throw Error(Message{"vocabulary.not_a_vocabulary"});
  const Message expected{"vocabulary.expected.version", {{"ours", std::to_string(kVersion)}}};
  const Json& version = member(json, "version", expected);
  if (version.is_number_integer() && version > kVersion) {
    throw Error(Message{"error.newer_version",
                        {{"version", version.dump()}, {"ours", std::to_string(kVersion)}}});
  }
  if (version != kVersion) fail("version", expected, version);
}

TextCut read_cut(const Json& json) {
  const Message expected{"vocabulary.expected.cut"};
  const Json& value = member(json, "cut", expected);
  const auto cut =
      value.is_string() ? text_cut_from_string(value.get<std::string>()) : std::nullopt;
  if (!cut) fail("cut", expected, value);
  return *cut;
}

std::vector<std::string> read_tokens(const Json& json) {
  const Message expected{"vocabulary.expected.tokens"};
  const Json& list = member(json, "tokens", expected);
  if (!list.is_array()) fail("tokens", expected, list);
  std::vector<std::string> tokens;
  for (const Json& token : list) {
    if (!token.is_string()) fail("tokens[" + std::to_string(tokens.size()) + "]", expected, token);
    tokens.push_back(token.get<std::string>());
  }
  return tokens;
}

std::vector<BpeMerge> read_merges(const Json& json) {
  const Message expected{"vocabulary.expected.merges"};
  const Json& list = member(json, "merges", expected);
  if (!list.is_array()) fail("merges", expected, list);
  std::vector<BpeMerge> merges;
  const auto is_id = [](const Json& id) {
    return id.is_number_unsigned() && id.get<std::uint64_t>() < kMaxBpeTokens;
  };
  for (const Json& pair : list) {
    if (!pair.is_array() || pair.size() != 2 || !is_id(pair[0]) || !is_id(pair[1]))
      fail("merges[" + std::to_string(merges.size()) + "]", expected, pair);
    merges.push_back({pair[0].get<int>(), pair[1].get<int>()});
  }
  return merges;
}

// What stands in the file after the bytes and merges.
std::vector<Special> read_specials(const std::vector<std::string>& tokens, std::size_t first) {
  std::vector<Special> specials;
  for (std::size_t id = first; id < tokens.size(); ++id) {
    bool found = false;
    for (std::size_t i = 0; i < kSpecials && !found; ++i) {
      const auto special = static_cast<Special>(i);
      found = to_string(special) == tokens[id];
      if (found) specials.push_back(special);
    }
    const Message expected{"vocabulary.expected.special"};
    if (!found) fail("tokens[" + std::to_string(id) + "]", expected, tokens[id]);
  }
  return specials;
}

// The tokens that are written out must be the ones that the bytes and merges make.
void check_tokens(const std::vector<std::string>& written, const Vocabulary& made) {
  for (std::size_t id = 0; id < static_cast<std::size_t>(made.size()); ++id) {
    const std::string& right = made.token(static_cast<int>(id));
    if (id < written.size() && written[id] == right) continue;
    const Message expected{"vocabulary.expected.token", {{"token", visible_label(right)}}};
    const std::string key = "tokens[" + std::to_string(id) + "]";
    if (id >= written.size())
      throw Error(Message{"vocabulary.missing", {{"key", key}}}.with(expected));
    fail(key, expected, written[id]);
  }
}

// The words of the special tokens in files.
constexpr std::string_view kSpecialKeys[kSpecials] = {"pad", "unk",  "bos", "eos",
                                                      "cls", "mask", "sep"};

// The tokenizer as it is in other programs' files, and what is not said there.
std::string pieces_json(const PieceTokenizer& pieces) {
  Json specials = Json::object();
  const SpecialNames names = pieces.special_names();
  for (std::size_t i = 0; i < kSpecials; ++i) {
    if (!names[i].empty()) specials[std::string(kSpecialKeys[i])] = names[i];
  }
  return "{\n  \"format\": \"" + std::string(kFormat) +
         "\",\n  \"version\": " + std::to_string(kVersion) +
         ",\n  \"cut\": \"pieces\",\n  \"size\": " + std::to_string(pieces.size()) +
         ",\n  \"special\": " + specials.dump() +
         ",\n  \"tokenizer\": " + pieces.to_tokenizer_json() + "\n}\n";
}

Vocabulary read_pieces(const Json& json) {
  const PieceJson in(json, "");
  in.only({"format", "version", "cut", "size", "special", "tokenizer"});
  SpecialNames names;
  const PieceJson special = in.at("special");
  special.only({"pad", "unk", "bos", "eos", "cls", "mask", "sep"});
  for (std::size_t i = 0; i < kSpecials; ++i)
    names[i] = special.text(std::string(kSpecialKeys[i]).c_str(), "");
  const PieceTokenizer pieces = PieceTokenizer::from_json(in.at("tokenizer").json().dump(), names);
  return Vocabulary::of_pieces(std::make_shared<const PieceTokenizer>(
      pieces.with_size(in.at("size").integer(1, kMaxVocabulary))));
}

}  // namespace

std::string Vocabulary::to_json() const {
  if (pieces_) return pieces_json(*pieces_);
  const auto as_json = [](const std::string& text) {
    return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  std::string text =
      "{\n  \"format\": \"" + std::string(kFormat) +
      "\",\n  \"version\": " + std::to_string(kVersion) + ",\n  \"cut\": \"" +
      std::string(to_string(cut_)) + "\",\n  \"tokens\": " +
      list_text(names_->size(), [&](std::size_t i) { return as_json((*names_)[i]); });
  if (cut_ == TextCut::kBpe) {
    const std::vector<BpeMerge>& merges = bpe_->merges();
    text += ",\n  \"merges\": " + list_text(merges.size(), [&](std::size_t i) {
              return "[" + std::to_string(merges[i].left) + ", " + std::to_string(merges[i].right) +
                     "]";
            });
  }
  return text + "\n}\n";
}

Vocabulary Vocabulary::from_json(std::string_view text) {
  const Json json = parse(text);
  check_frame(json);
  const TextCut cut = read_cut(json);
  if (cut == TextCut::kPieces) return read_pieces(json);
  std::vector<std::string> tokens = read_tokens(json);
  if (cut != TextCut::kBytes && cut != TextCut::kBpe) return {cut, std::move(tokens)};
  Bpe bpe(cut == TextCut::kBpe ? read_merges(json) : std::vector<BpeMerge>{});
  const std::vector<Special> specials = read_specials(tokens, static_cast<std::size_t>(bpe.size()));
  const Vocabulary made =
      cut == TextCut::kBpe ? of_bpe(std::move(bpe), specials) : of_bytes(specials);
  check_tokens(tokens, made);
  return made;
}

}  // namespace headlight
