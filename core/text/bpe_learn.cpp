// Learning merges: pairs are counted once, and after each merge only around its places.
#include <algorithm>
#include <queue>

#include "core/base/error.h"
#include "core/text/bpe.h"

namespace headlight {
namespace {

constexpr int kBytes = 256;
constexpr std::uint64_t kFewest = 2;  // a pair that comes once is no pattern

constexpr std::size_t kPiecesPerTell = 4096;

struct Piece {
  std::vector<int> ids;
  std::uint64_t count = 0;
};

struct Pair {
  std::uint64_t count = 0;
  std::vector<std::uint32_t> pieces;  // that may hold it; some twice, some no more
};

// What a pair counted when it was put into the queue. Counts only fall after that, so an entry may
// promise too much, never too little.
struct Candidate {
  std::uint64_t count;
  std::uint64_t key;  // left in the upper half, so that keys sort as (left, right)
  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : key > other.key;
  }
};

std::uint64_t key_of(int left, int right) {
  return (static_cast<std::uint64_t>(left) << 32) | static_cast<std::uint32_t>(right);
}

class Learner {
 public:
  Learner(std::span<const PieceCount> pieces, const ProgressFunction& progress) {
    for (std::size_t n = 0; n < pieces.size(); ++n) {
      if (n % kPiecesPerTell == 0) tell(progress, "progress.learning", 0);
      const PieceCount& given = pieces[n];
      if (given.piece.size() < 2 || given.count == 0) continue;
      Piece& piece = pieces_.emplace_back();
      for (const char byte : given.piece) piece.ids.push_back(static_cast<unsigned char>(byte));
      piece.count = given.count;
      const auto index = static_cast<std::uint32_t>(pieces_.size() - 1);
      for (std::size_t i = 0; i + 1 < piece.ids.size(); ++i)
        add(piece.ids[i], piece.ids[i + 1], index);
    }
    for (const auto& entry : pairs_) queue_.push({entry.second.count, entry.first});
  }

  // The pair that comes most often; false when none comes often enough.
  bool best(BpeMerge& merge) {
    while (!queue_.empty()) {
      const Candidate top = queue_.top();
      queue_.pop();
      const auto found = pairs_.find(top.key);
      if (found == pairs_.end() || found->second.count < kFewest) continue;
      if (found->second.count == top.count) {
        merge = {static_cast<int>(top.key >> 32), static_cast<int>(top.key & 0xFFFFFFFFu)};
        return true;
      }
      queue_.push({found->second.count, top.key});
    }
    return false;
  }

  // Every `merge` becomes the token `made`.
  void apply(const BpeMerge& merge, int made) {
    const auto found = pairs_.find(key_of(merge.left, merge.right));
    const std::vector<std::uint32_t> where = std::move(found->second.pieces);
    pairs_.erase(found);
    fresh_.clear();
    for (const std::uint32_t index : where) merge_in(index, merge, made);
    for (const std::uint64_t key : fresh_) {
      const auto pair = pairs_.find(key);
      if (pair != pairs_.end()) queue_.push({pair->second.count, key});
    }
  }

 private:
  void add(int left, int right, std::uint32_t index) {
    Pair& pair = pairs_[key_of(left, right)];
    if (pair.pieces.empty() || pair.pieces.back() != index) pair.pieces.push_back(index);
    pair.count += pieces_[index].count;
  }

  void take(int left, int right, std::uint32_t index) {
    const auto pair = pairs_.find(key_of(left, right));
    if (pair == pairs_.end()) return;  // the pair that is being merged
    pair->second.count -= pieces_[index].count;
    if (pair->second.count == 0) pairs_.erase(pair);
  }

  // In order from the left, so that the neighbour before a place is already merged and the one
  // after it is not yet: overlaps ("aaaa", "abab") count right.
  void merge_in(std::uint32_t index, const BpeMerge& merge, int made) {
    std::vector<int>& ids = pieces_[index].ids;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (i + 1 == ids.size() || ids[i] != merge.left || ids[i + 1] != merge.right) {
        ids[kept++] = ids[i];
        continue;
      }
      if (kept > 0) {
        take(ids[kept - 1], merge.left, index);
        add_fresh(ids[kept - 1], made, index);
      }
      if (i + 2 < ids.size()) {
        take(merge.right, ids[i + 2], index);
        add_fresh(made, ids[i + 2], index);
      }
      ids[kept++] = made;
      ++i;
    }
    ids.resize(kept);
  }

  void add_fresh(int left, int right, std::uint32_t index) {
    add(left, right, index);
    fresh_.push_back(key_of(left, right));
  }

  std::vector<Piece> pieces_;
  std::unordered_map<std::uint64_t, Pair> pairs_;
  std::priority_queue<Candidate> queue_;
  std::vector<std::uint64_t> fresh_;  // pairs with the token made last
};

}  // namespace

Bpe learn_bpe(std::span<const PieceCount> pieces, int tokens, const ProgressFunction& progress) {
  if (tokens <= kBytes || tokens > kMaxBpeTokens) {
    throw UsageError(Message{"bpe.size",
                             {{"low", std::to_string(kBytes + 1)},
                              {"high", std::to_string(kMaxBpeTokens)},
                              {"got", std::to_string(tokens)}}});
  }
  Learner learner(pieces, progress);
  std::vector<BpeMerge> merges;
  const auto wanted = static_cast<std::size_t>(tokens - kBytes);
  BpeMerge merge;
  while (merges.size() < wanted && learner.best(merge)) {
    tell(progress, "progress.learning", static_cast<double>(merges.size()) / double(wanted));
    learner.apply(merge, kBytes + static_cast<int>(merges.size()));
    merges.push_back(merge);
  }
  return Bpe(std::move(merges));
}

Bpe learn_bpe(std::string_view text, int tokens, const ProgressFunction& progress) {
  std::unordered_map<std::string_view, std::size_t> places;
  std::vector<PieceCount> pieces;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = bpe_piece_end(text, at);
    const std::string_view piece = text.substr(at, end - at);
    const auto [entry, is_new] = places.emplace(piece, pieces.size());
    if (is_new) pieces.push_back({piece, 0});
    ++pieces[entry->second].count;
    at = end;
  }
  return learn_bpe(pieces, tokens, progress);
}

}  // namespace headlight
