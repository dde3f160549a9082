// Byte-pair encoding (Sennrich, Haddow, Birch 2016) over bytes: every text can be encoded, and
// comes back to the byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/progress.h"

namespace headlight {

/// Token `left` followed by token `right` becomes one new token.
struct BpeMerge {
  int left = 0, right = 0;
  bool operator==(const BpeMerge&) const = default;
};

inline constexpr int kMaxBpeTokens = 65536;
/// Text is cut into pieces of at most this many bytes first, and no token reaches over a cut.
inline constexpr std::size_t kMaxBpePiece = 64;

/// Where the piece that begins at byte `at` (< text.size()) ends. A piece is a run of letters, of
/// digits, of white space or of other characters; the space before a word belongs to the word.
/// Never within a valid code point. Pieces tile the text.
std::size_t bpe_piece_end(std::string_view text, std::size_t at);

/// Tokens 0 to 255 are the bytes, token 256 + i is what merge i makes.
class Bpe {
 public:
  Bpe() : Bpe(std::vector<BpeMerge>{}) {}
  /// Throws Error for a merge of tokens that do not exist yet, one that is there twice, one that
  /// makes a token of more than kMaxBpePiece bytes, and more than kMaxBpeTokens tokens.
  explicit Bpe(std::vector<BpeMerge> merges);

  int size() const { return static_cast<int>(bytes_.size()); }
  const std::vector<BpeMerge>& merges() const { return merges_; }
  /// The bytes of a token; not always whole characters.
  const std::string& bytes(int id) const { return bytes_[static_cast<std::size_t>(id)]; }

  /// Any bytes. decode(encode(x)) == x.
  std::vector<int> encode(std::string_view text) const;
  /// Appends the tokens of one piece: of all merges that fit, the one learned first, again and
  /// again.
  void encode_piece(std::string_view piece, std::vector<int>& out) const;
  /// Throws Error for an id that is not a token.
  std::string decode(std::span<const int> ids) const;

 private:
  std::vector<BpeMerge> merges_;
  std::vector<std::string> bytes_;
  std::unordered_map<std::uint64_t, int> made_;  // (left, right) -> token
};

/// A piece of text and how often it came.
struct PieceCount {
  std::string_view piece;
  std::uint64_t count = 0;
};

/// Learns merges until there are `tokens` tokens (257 to kMaxBpeTokens, throws UsageError for
/// others), or until no pair comes twice. Each step takes the pair that comes most often; of pairs
/// that come equally often, that with the smaller left token, then the smaller right token. So the
/// order of the pieces does not matter. Throws Cancelled.
Bpe learn_bpe(std::span<const PieceCount> pieces, int tokens,
              const ProgressFunction& progress = {});
/// The same from a text, cut into pieces.
Bpe learn_bpe(std::string_view text, int tokens, const ProgressFunction& progress = {});

}  // namespace headlight
