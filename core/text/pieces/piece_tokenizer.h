// PieceTokenizer: the tokenizer of a model that comes from elsewhere, read from the files of its
// folder. Gives the ids that the library gives with which such files are written.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/special_tokens.h"

namespace headlight {

/// What files call the special tokens, by Special; empty: not said.
using SpecialNames = std::array<std::string, kSpecials>;

/// A row of one or two texts.
struct SegmentedTokens {
  std::vector<PlacedToken> tokens;
  std::vector<int> segments;  // of each token: 0 or 1
};

struct PieceFiles;

/// Does not change once made, so threads may share it; a copy is one more view of the same.
class PieceTokenizer {
 public:
  /// Of a tokenizer.json. Special tokens that `names` does not say are known by their usual names.
  /// Throws Error that says what is wrong, or which part is not known here.
  static PieceTokenizer from_json(std::string_view tokenizer_json, const SpecialNames& names = {});
  /// Of a model's folder: tokenizer.json, or vocab.json and merges.txt, or vocab.txt, or one of
  /// SentencePiece's files (source.spm and sentencepiece.bpe.model with vocab.json,
  /// tokenizer.model), or a list of pieces NAME_pieces.json; special_tokens_map.json,
  /// tokenizer_config.json and added_tokens.json beside it. Throws Error that names the file.
  static PieceTokenizer open(const std::filesystem::path& folder);
  /// That of what a translator writes: target.spm beside source.spm, with ids of target_vocab.json
  /// if that is there, else the same pieces. Nothing where the folder has one tokenizer. Throws
  /// Error that names the file.
  static std::optional<PieceTokenizer> open_target(const std::filesystem::path& folder);
  /// Has the folder such files? A vocabulary of this program is none.
  static bool is_in(const std::filesystem::path& folder);

  /// The ids of a text, as the model was trained to read it; without `add_special` only those of
  /// the text. Special tokens that are written out in it are found. What is put around the text
  /// stands nowhere: begin = end = 0. Any bytes: byte-level tokenizers keep what is no UTF-8, for
  /// the others it becomes U+FFFD. Throws Error for a text of 1 GiB or more, and for a word that
  /// has no pieces where there is no unknown token.
  std::vector<PlacedToken> encode(std::string_view text, bool add_special = true) const;
  /// Of a pair; the places of the second text's tokens are in that.
  SegmentedTokens encode_pair(std::string_view first, std::string_view second,
                              bool add_special = true) const;

  /// The text again, special tokens by their names: for byte-level tokenizers exactly, also where
  /// that is no UTF-8. Throws Error for an id that is not there.
  std::string decode(std::span<const int> ids) const;

  /// One more than the largest id. 0 <= id < size() below.
  int size() const;
  /// What a person reads on an axis: the text that the piece stands for, with a blank before a
  /// word and bytes that are no whole character as "<0xE4>"; of WordPiece the piece as it is,
  /// "##ing". An id without a piece, or with an empty one, is its number.
  const std::string& piece(int id) const;
  std::shared_ptr<const std::vector<std::string>> pieces() const;
  /// The piece as it stands in the files: "Ġthe", "▁the".
  const std::string& written(int id) const;
  /// Has this id a piece? Some files have holes.
  bool has(int id) const;
  /// The bytes of text that the piece stands for; of a special token its name.
  const std::string& bytes(int id) const;
  /// By piece() or written().
  std::optional<int> find(std::string_view piece) const;
  /// How it cuts a word: "BPE", "Unigram", "WordPiece", "WordLevel".
  std::string_view kind() const;
  std::optional<int> id_of(Special) const;
  bool is_special(int id) const;
  /// The same with more ids, which have no pieces: a model's table may have more rows. Throws Error
  /// for fewer than size().
  PieceTokenizer with_size(int size) const;

  /// The names of the special tokens, as from_json() takes them.
  SpecialNames special_names() const;
  /// A tokenizer.json that from_json() takes back; one that was read comes back the same, but for
  /// the order of its members.
  const std::string& to_tokenizer_json() const;

  friend bool operator==(const PieceTokenizer& a, const PieceTokenizer& b);

  struct Parts;  // how it is made

 private:
  static PieceTokenizer of_files(const PieceFiles&);
  explicit PieceTokenizer(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

}  // namespace headlight
