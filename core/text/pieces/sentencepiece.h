// SentencePiece's own model files (source.spm, sentencepiece.bpe.model, tokenizer.model): what they
// say, written as a tokenizer.json.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/pieces/older_files.h"

namespace headlight {

/// What such a file says, by the message ModelProto of sentencepiece_model.proto.
struct SentencePieceFile {
  enum Type { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };
  struct Piece {
    std::string text;
    double score = 0;
    int type = kNormal;
  };
  enum ModelType { kUnigram = 1, kBpe, kWord, kChar };
  std::vector<Piece> pieces;  // by id
  int model = kUnigram;
  bool byte_fallback = false;
  std::string charsmap;        // a table of replacements, as "Precompiled" has it; empty: none
  bool adds_blank = true;      // in front of the text
  bool removes_blanks = true;  // at both ends, and of several all but one
};

/// Throws Error for what is no such file, and for one that asks for what is not known here.
SentencePieceFile read_sentencepiece(std::string_view bytes);

/// What stands around a text that such a tokenizer reads.
enum class SentencePieceRow {
  kMarian,  // A B </s>; a text may begin with a language's code, ">>fra<<"
  kM2M,     // __en__ A B </s>, by the settings' src_lang
  kLlama,   // <s> A <s> B, by the settings' add_bos_token and add_eos_token; blanks by `legacy`
};

/// `vocab`: vocab.json beside it, ids by piece, which are the ids then; null: the file's own places
/// are. Throws Error that says what is wrong, and fills names that nothing said.
nlohmann::json of_sentencepiece(const SentencePieceFile&, const nlohmann::json& vocab,
                                SentencePieceRow, const OlderFiles&, SpecialNames&);

}  // namespace headlight
