// How often two tokens stand side by side in pieces of text, kept true while pairs are merged: what
// byte-pair encoding and WordPiece learn from.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace headlight {

/// A pair as one number: left in the upper half, so that keys sort as (left, right).
inline std::uint64_t pair_key(int left, int right) {
  return (static_cast<std::uint64_t>(left) << 32) | static_cast<std::uint32_t>(right);
}
inline int left_of(std::uint64_t key) { return static_cast<int>(key >> 32); }
inline int right_of(std::uint64_t key) { return static_cast<int>(key & 0xFFFFFFFFu); }

class PairCounts {
 public:
  struct Pair {
    std::uint64_t count = 0;
    std::vector<std::uint32_t> pieces;  // that may hold it; some twice, some no more
  };

  /// A piece as tokens, and how often it came.
  void add(std::vector<int> ids, std::uint64_t count);
  const std::unordered_map<std::uint64_t, Pair>& pairs() const { return pairs_; }

  /// Every `left` followed by `right` becomes the token `made`. The keys of the pairs that became
  /// more, some perhaps gone again; valid until the next merge.
  const std::vector<std::uint64_t>& merge(int left, int right, int made);
  /// How many places the last merge changed.
  std::uint64_t merged() const { return merged_; }

 private:
  struct Piece {
    std::vector<int> ids;
    std::uint64_t count = 0;
  };
  void add_pair(int left, int right, std::uint32_t index);
  void add_fresh(int left, int right, std::uint32_t index);
  void take(int left, int right, std::uint32_t index);
  void merge_in(std::uint32_t index, int left, int right, int made);

  std::vector<Piece> pieces_;
  std::unordered_map<std::uint64_t, Pair> pairs_;
  std::vector<std::uint64_t> fresh_;
  std::uint64_t merged_ = 0;
};

}  // namespace headlight
