#include "core/text/pair_counts.h"

#include <utility>

namespace headlight {

void PairCounts::add(std::vector<int> ids, std::uint64_t count) {
  pieces_.push_back({std::move(ids), count});
  const auto index = static_cast<std::uint32_t>(pieces_.size() - 1);
  const std::vector<int>& added = pieces_.back().ids;
  for (std::size_t i = 0; i + 1 < added.size(); ++i) add_pair(added[i], added[i + 1], index);
}

const std::vector<std::uint64_t>& PairCounts::merge(int left, int right, int made) {
  fresh_.clear();
  merged_ = 0;
  const auto found = pairs_.find(pair_key(left, right));
  if (found == pairs_.end()) return fresh_;
  const std::vector<std::uint32_t> where = std::move(found->second.pieces);
  pairs_.erase(found);
  for (const std::uint32_t index : where) merge_in(index, left, right, made);
  return fresh_;
}

void PairCounts::add_pair(int left, int right, std::uint32_t index) {
  Pair& pair = pairs_[pair_key(left, right)];
  if (pair.pieces.empty() || pair.pieces.back() != index) pair.pieces.push_back(index);
  pair.count += pieces_[index].count;
}

void PairCounts::add_fresh(int left, int right, std::uint32_t index) {
  add_pair(left, right, index);
  fresh_.push_back(pair_key(left, right));
}

void PairCounts::take(int left, int right, std::uint32_t index) {
  const auto pair = pairs_.find(pair_key(left, right));
  if (pair == pairs_.end()) return;  // the pair that is being merged
  pair->second.count -= pieces_[index].count;
  if (pair->second.count == 0) pairs_.erase(pair);
}

// In order from the left, so that the neighbour before a place is already merged and the one
// after it is not yet: overlaps ("aaaa", "abab") count right.
void PairCounts::merge_in(std::uint32_t index, int left, int right, int made) {
  std::vector<int>& ids = pieces_[index].ids;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i + 1 == ids.size() || ids[i] != left || ids[i + 1] != right) {
      ids[kept++] = ids[i];
      continue;
    }
    if (kept > 0) {
      take(ids[kept - 1], left, index);
      add_fresh(ids[kept - 1], made, index);
    }
    if (i + 2 < ids.size()) {
      take(right, ids[i + 2], index);
      add_fresh(made, ids[i + 2], index);
    }
    ids[kept++] = made;
    merged_ += pieces_[index].count;
    ++i;
  }
  ids.resize(kept);
}

}  // namespace headlight
