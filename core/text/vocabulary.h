// Vocabulary: the tokens that a model knows, in the order of their ids, and how text becomes ids.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/text/bpe.h"
#include "core/text/special_tokens.h"
#include "core/text/tokenizer.h"

namespace headlight {

class PieceTokenizer;

/// How text is cut: as the tokenizers of the same names, by byte pairs or into pieces of words
/// (word_pieces.h) learned from a text, or into numbers (number_words.h) or by the tokenizer of a
/// model from elsewhere (pieces/piece_tokenizer.h), which no text is learned from.
enum class TextCut { kWords, kCharacters, kBytes, kBpe, kNumbers, kWordPiece, kPieces };

/// "words", "characters", "bytes", "bpe", "numbers", "wordpiece", "pieces"; the name in files and
/// on the command line.
std::string_view to_string(TextCut);
/// The inverse; nothing for any other text.
std::optional<TextCut> text_cut_from_string(std::string_view name);

/// Can tokens of this cut be learned from a text?
bool is_learned(TextCut);

/// A letter or a digit of ASCII.
bool is_ascii_word(char);
/// " dog": a blank and a letter or a digit.
bool begins_word(std::string_view token);

/// Does not change once made, so threads may share it.
class Vocabulary {
 public:
  /// Words, pieces of words, characters or the numbers of a grid, by id. A token with a special's
  /// name is that special. Throws Error for none, too many, an empty, too long or repeated token
  /// and one that is not UTF-8, and UsageError for another cut.
  Vocabulary(TextCut cut, std::vector<std::string> tokens);
  /// The 256 bytes, id = byte, then these specials.
  static Vocabulary of_bytes(std::span<const Special> specials = {});
  /// An even grid of so many numbers from −1 to 1.
  static Vocabulary of_numbers(int count);
  /// The tokens of `bpe`, then these specials.
  static Vocabulary of_bpe(Bpe bpe, std::span<const Special> specials = {});
  /// Those of a model from elsewhere. Its special tokens have its own names.
  static Vocabulary of_pieces(std::shared_ptr<const PieceTokenizer> pieces);

  TextCut cut() const { return cut_; }
  int size() const { return static_cast<int>(names_->size()); }
  /// What a person reads; bytes that are no whole character as "<0xE4>". 0 <= id < size().
  const std::string& token(int id) const { return (*names_)[static_cast<std::size_t>(id)]; }
  /// All of them, for the ticks of an axis.
  std::shared_ptr<const std::vector<std::string>> tokens() const { return names_; }
  /// The text that a token stands for: for a special its name, of "##ing" "ing".
  std::string_view text_of(int id) const;
  /// The id of a word, a character, a piece or a special.
  std::optional<int> find(std::string_view token) const;
  std::optional<int> id_of(Special special) const;
  /// Can this word or character be encoded without [UNK]? Not of kBytes, kBpe and kNumbers.
  bool knows(std::string_view word) const;
  /// Of kWordPiece: does this token go on with the word before it?
  bool goes_on(int id) const;
  /// Of kWordPiece: appends the ids of one word, [UNK] for one that cannot be cut. Throws as
  /// encode().
  void encode_word(std::string_view word, std::vector<int>& out) const;
  bool is_special(int id) const;
  /// None unless the cut is kBpe or kBytes.
  const Bpe* bpe() const { return bpe_.get(); }
  /// None unless the cut is kPieces.
  const PieceTokenizer* pieces() const { return pieces_.get(); }

  /// The ids of a text; specials may be written out in it, "[CLS] the [MASK] sat". A token that is
  /// not there becomes [UNK]; without [UNK], throws Error with its name and what to do. Opening a
  /// tokenizer takes milliseconds: give one that is kept, of the kind of tokenizer_kind(), to save
  /// them.
  std::vector<int> encode(std::string_view text, Tokenizer* kept = nullptr) const;
  /// The same with the place of each token.
  std::vector<PlacedToken> encode_placed(std::string_view text, Tokenizer* kept = nullptr) const;
  /// The tokenizer that cuts as this does; none is needed for kBpe and kPieces, and kBytes is
  /// returned.
  TokenizerKind tokenizer_kind() const;
  /// Has it tokens such as " dog", so that one without the blank goes on with a word?
  bool blanks_begin_words() const { return blanks_begin_words_; }

  /// The text again: exactly, but for words, which get single spaces between them and none before
  /// a full stop or comma; the pieces of a word are joined. Throws Error for an id that is not
  /// there.
  std::string decode(std::span<const int> ids) const;

  /// Readable JSON that from_json takes back.
  std::string to_json() const;
  /// Throws Error that says what was expected and what came.
  static Vocabulary from_json(std::string_view json);

  friend bool operator==(const Vocabulary& a, const Vocabulary& b);

 private:
  Vocabulary(TextCut cut, std::vector<std::string> names, std::shared_ptr<const Bpe> bpe);
  explicit Vocabulary(std::shared_ptr<const PieceTokenizer> pieces);
  void index_tokens(std::size_t first);
  void add_id(std::string_view token, std::size_t begin, std::size_t end,
              std::vector<PlacedToken>& out) const;
  void encode_plain(std::string_view text, std::size_t from, Tokenizer* kept,
                    std::vector<PlacedToken>& out) const;
  void add_pieces(std::string_view word, std::size_t begin, bool inside,
                  std::vector<PlacedToken>& out) const;

  TextCut cut_;
  std::shared_ptr<const std::vector<std::string>> names_;
  bool blanks_begin_words_ = false;
  std::size_t longest_ = 0;                        // kWordPiece: bytes of the longest token
  std::shared_ptr<const Bpe> bpe_;                 // for kBpe, and for kBytes without merges
  std::shared_ptr<const PieceTokenizer> pieces_;   // for kPieces
  std::unordered_map<std::string_view, int> ids_;  // into names_; the specials alone for bytes, bpe
  std::array<int, kSpecials> special_ids_{};       // -1: not there
};

}  // namespace headlight
