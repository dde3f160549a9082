// What a PieceTokenizer is made of.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/text/pieces/added_tokens.h"
#include "core/text/pieces/models/piece_models.h"
#include "core/text/pieces/piece_tokenizer.h"
#include "core/text/pieces/steps/normalizers.h"
#include "core/text/pieces/steps/piece_decoders.h"
#include "core/text/pieces/steps/post_processors.h"
#include "core/text/pieces/steps/pre_tokenizers.h"

namespace headlight {

struct PieceTokenizer::Parts {
  ReadModel model;
  std::vector<AddedToken> added;
  AddedTokenFinder typed, normalized;  // found before a text is normalized, and after
  Normalizer normalize;                // none: an empty function; so too the next
  PreTokenizer cut;
  // What begins a text that a language's code stands in front of, and what ends that code, which is
  // a token: Marian's ">>" and "<<". Empty: such codes are text.
  std::string code_begin, code_end;
  RowTemplate rows = RowTemplate::plain();
  PieceDecoder decoder = plain_piece_decoder();
  bool any_bytes = false;  // byte-level: what is no UTF-8 is kept
  std::string mark;        // long texts may be cut before it; empty: nowhere

  std::vector<std::string> written, bytes;  // by id
  std::vector<char> has, special;
  std::shared_ptr<std::vector<std::string>> names;
  std::array<int, kSpecials> special_ids{};  // -1: none
  std::string source;                        // tokenizer.json
};

/// The parts of a tokenizer.json. Throws Error.
std::shared_ptr<PieceTokenizer::Parts> read_piece_parts(const nlohmann::json&, const SpecialNames&);

/// What the files of a folder say, as a tokenizer.json.
struct PieceFiles {
  nlohmann::json tokenizer;
  SpecialNames names;
  std::filesystem::path file;  // the main one
};
/// Throws Error that names the file.
PieceFiles read_piece_files(const std::filesystem::path& folder);
PieceFiles read_piece_files(const std::filesystem::path& folder, const std::filesystem::path& file);
/// The file that says what the pieces are; empty for none.
std::filesystem::path piece_file(const std::filesystem::path& folder);
/// The one that says how a target is cut into the same pieces; empty where nothing says so.
std::filesystem::path target_piece_file(const std::filesystem::path& folder);

}  // namespace headlight
