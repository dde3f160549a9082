// The models of tokenizers: how one word becomes ids.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/text/pieces/piece_json.h"

namespace headlight {

/// A piece of a word: its id and the bytes [begin, end) of the word.
struct WordPieceId {
  int id = 0;
  std::uint32_t begin = 0, end = 0;
};

/// The pieces by id. An id may have none: real files have such holes.
class PieceTable {
 public:
  PieceTable() = default;
  PieceTable(const PieceTable&) = delete;  // what finds a piece looks into this one
  PieceTable(PieceTable&&) = default;
  /// Throws Error for an id that is negative, too large or there twice, and for none at all.
  /// `vocab` is an object of ids by piece.
  static PieceTable of_ids(const PieceJson& vocab);

  int size() const { return static_cast<int>(pieces_.size()); }
  bool has(int id) const { return has_[static_cast<std::size_t>(id)]; }
  const std::string& piece(int id) const { return pieces_[static_cast<std::size_t>(id)]; }
  /// -1 for none.
  int find(std::string_view piece) const;
  /// Bytes of the longest piece.
  std::size_t longest() const { return longest_; }
  /// False where the id has a piece already.
  bool set(int id, std::string piece);
  /// Makes room for so many ids.
  void grow(int size);
  /// Once all are set: finds them by their text.
  void index();

 private:
  std::vector<std::string> pieces_;
  std::vector<char> has_;
  std::unordered_map<std::string_view, int> ids_;
  std::size_t longest_ = 0;
};

/// Never changes once made, so threads share it.
class PieceModel {
 public:
  virtual ~PieceModel() = default;
  /// Appends the pieces of a word. Throws Error for one that has no pieces, where there is nothing
  /// to stand for what is unknown; of BPE such characters are left out, as in the files' format.
  virtual void cut(std::string_view word, std::vector<WordPieceId>& out) const = 0;
  /// Could a long text be cut before each of these marks, and nothing would come out otherwise?
  virtual bool parts_before(std::string_view mark) const {
    (void)mark;
    return false;
  }
  /// The unknown piece, if it has one.
  virtual std::optional<int> unknown() const = 0;
};

/// The score in a Unigram model of a piece that no text is cut into: it only stands for what is
/// unknown and written just so.
inline constexpr double kOnlyWhole = -1e9;

/// The model and its pieces.
struct ReadModel {
  std::shared_ptr<PieceTable> pieces;
  std::shared_ptr<const PieceModel> model;
  std::string type;
  std::string prefix, suffix;  // continuing_subword_prefix, end_of_word_suffix
};

/// "model" of a tokenizer.json. Throws Error that says what is wrong.
ReadModel read_piece_model(const PieceJson&);

/// Each fills `model` for its type; the pieces are read.
void read_bpe_model(const PieceJson&, ReadModel&);
void read_greedy_model(const PieceJson&, ReadModel&);  // WordPiece and WordLevel
void read_unigram_model(const PieceJson&, ReadModel&);

}  // namespace headlight
