#include "core/text/tokenizer_export.h"

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/utf8.h"
#include "core/text/pieces/piece_tokenizer.h"
#include "core/text/pieces/piece_unicode.h"

namespace headlight {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse_export(const Message& reason) {
  throw Error(Message{"pieces.no_tokenizer_json"}.with(reason));
}

Json isolated(const std::string& expression) {
  return {{"type", "Split"},
          {"pattern", Json::object({{"Regex", expression}})},
          {"behavior", "Isolated"},
          {"invert", false}};
}

Json bytes_alone() {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", false},
          {"use_regex", false}};
}

// bpe_piece_end(): runs of letters, digits, white space or others, with the blank before a word;
// then at most 64 bytes, never within a character. Behind ByteLevel each character is a byte, and
// those from 0x80 to 0xBF go on with one.
Json bpe_cuts() {
  const std::string runs = R"( ?[\p{L}\p{M}]+| ?\p{Nd}+| ?[^\s\p{L}\p{M}\p{Nd}]+|\s+(?= \S)|\s+)";
  std::string going_on = "[";
  for (int byte = 0x80; byte < 0xC0; ++byte)
    append_point(going_on, byte_character(static_cast<unsigned char>(byte)));
  const std::string short_pieces = ".{1," + std::to_string(kMaxBpePiece) + "}(?!" + going_on + "])";
  return {{"type", "Sequence"},
          {"pretokenizers", Json::array({isolated(runs), bytes_alone(), isolated(short_pieces)})}};
}

Json specials_of(const Vocabulary& vocabulary) {
  Json list = Json::array();
  for (int id = 0; id < vocabulary.size(); ++id) {
    if (!vocabulary.is_special(id)) continue;
    list.push_back({{"id", id},
                    {"content", vocabulary.token(id)},
                    {"single_word", false},
                    {"lstrip", false},
                    {"rstrip", false},
                    {"normalized", false},
                    {"special", true}});
  }
  return list;
}

Json byte_model(const Vocabulary& vocabulary) {
  const Bpe& bpe = *vocabulary.bpe();
  Json vocab = Json::object(), merges = Json::array();
  for (int id = 0; id < bpe.size(); ++id) {
    const std::string piece = as_byte_characters(bpe.bytes(id));
    // Two merges may make the same bytes, and no text says which.
    if (const auto found = vocab.find(piece); found != vocab.end()) {
      refuse_export(Message{"pieces.export.same_bytes",
                            {{"first", std::to_string(found->get<int>())},
                             {"id", std::to_string(id)},
                             {"piece", visible_label(vocabulary.token(id))}}});
    }
    vocab[piece] = id;
  }
  for (const BpeMerge& merge : bpe.merges())
    merges.push_back(as_byte_characters(bpe.bytes(merge.left)) + " " +
                     as_byte_characters(bpe.bytes(merge.right)));
  Json model = {{"type", "BPE"},
                {"dropout", nullptr},
                {"unk_token", nullptr},
                {"continuing_subword_prefix", nullptr},
                {"end_of_word_suffix", nullptr},
                {"fuse_unk", false},
                {"byte_fallback", false}};
  model["vocab"] = std::move(vocab);
  model["merges"] = std::move(merges);
  return model;
}

Json character_model(const Vocabulary& vocabulary) {
  Json vocab = Json::object();
  for (int id = 0; id < vocabulary.size(); ++id) vocab[vocabulary.token(id)] = id;
  return {{"type", "WordLevel"},
          {"vocab", std::move(vocab)},
          {"unk_token", std::string(to_string(Special::kUnknown))}};
}

}  // namespace

std::string tokenizer_json_of(const Vocabulary& vocabulary) {
  const TextCut cut = vocabulary.cut();
  if (cut == TextCut::kPieces) return vocabulary.pieces()->to_tokenizer_json();
  if (cut == TextCut::kWords || cut == TextCut::kWordPiece)
    refuse_export(Message{"pieces.export.words"});
  if (cut == TextCut::kNumbers) refuse_export(Message{"pieces.export.numbers"});
  const bool characters = cut == TextCut::kCharacters;
  nlohmann::ordered_json all = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
  all["added_tokens"] = specials_of(vocabulary);
  all["normalizer"] = nullptr;
  all["pre_tokenizer"] = characters             ? isolated("\\X")
                         : cut == TextCut::kBpe ? bpe_cuts()
                                                : bytes_alone();
  all["post_processor"] = nullptr;
  all["decoder"] = characters ? Json{{"type", "Fuse"}} : bytes_alone();
  all["model"] = characters ? character_model(vocabulary) : byte_model(vocabulary);
  return all.dump();
}

}  // namespace headlight
