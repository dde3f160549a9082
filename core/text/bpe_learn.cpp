// Learning merges: pairs are counted once, and after each merge only around its places.
#include <algorithm>
#include <queue>

#include "core/base/error.h"
#include "core/text/bpe.h"
#include "core/text/pair_counts.h"

namespace headlight {
namespace {

constexpr int kBytes = 256;
constexpr std::uint64_t kFewest = 2;  // a pair that comes once is no pattern

constexpr std::size_t kPiecesPerTell = 4096;

// What a pair counted when it was put into the queue. Counts only fall after that, so an entry may
// promise too much, never too little.
struct Candidate {
  std::uint64_t count;
  std::uint64_t key;  // left in the upper half, so that keys sort as (left, right)
  bool operator<(const Candidate& other) const {
    return count != other.count ? count < other.count : key > other.key;
  }
};

class Learner {
 public:
  Learner(std::span<const PieceCount> pieces, const ProgressFunction& progress) {
    for (std::size_t n = 0; n < pieces.size(); ++n) {
      if (n % kPiecesPerTell == 0) tell(progress, "progress.learning", 0);
      const PieceCount& given = pieces[n];
      if (given.piece.size() < 2 || given.count == 0) continue;
      std::vector<int> ids;
      for (const char byte : given.piece) ids.push_back(static_cast<unsigned char>(byte));
      counts_.add(std::move(ids), given.count);
    }
    for (const auto& entry : counts_.pairs()) queue_.push({entry.second.count, entry.first});
  }

  // The pair that comes most often; false when none comes often enough.
  bool best(BpeMerge& merge) {
    while (!queue_.empty()) {
      const Candidate top = queue_.top();
      queue_.pop();
      const auto found = counts_.pairs().find(top.key);
      if (found == counts_.pairs().end() || found->second.count < kFewest) continue;
      if (found->second.count == top.count) {
        merge = {left_of(top.key), right_of(top.key)};
        return true;
      }
      queue_.push({found->second.count, top.key});
    }
    return false;
  }

  // Every `merge` becomes the token `made`.
  void apply(const BpeMerge& merge, int made) {
    for (const std::uint64_t key : counts_.merge(merge.left, merge.right, made)) {
      const auto pair = counts_.pairs().find(key);
      if (pair != counts_.pairs().end()) queue_.push({pair->second.count, key});
    }
  }

 private:
  PairCounts counts_;
  std::priority_queue<Candidate> queue_;
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
