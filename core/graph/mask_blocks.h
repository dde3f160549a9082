// Blocks of scores: where a mask forbids every cell of a block of queries by keys, attention in one
// piece (fusion.h) has nothing to compute.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headlight {

struct MaskSpec;

/// Queries in a block of scores, and keys: the less, the more of a causal mask's other half is left
/// out.
inline constexpr std::int64_t kScoreBlock = 16;
constexpr std::int64_t score_blocks(std::int64_t n) { return (n + kScoreBlock - 1) / kScoreBlock; }

/// What becomes of a block whose cells are all forbidden: it is left out, or computed all the same,
/// with the same results bit for bit: to compare with.
enum class ForbiddenBlocks : bool { kSkipped, kComputed };

/// The places [begin, end).
struct Stretch {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
  bool operator==(const Stretch&) const = default;
};

/// How many blocks of scores are computed, and how many there are.
struct BlockCount {
  std::int64_t computed = 0, all = 0;
  BlockCount& operator+=(const BlockCount& other);
  bool operator==(const BlockCount&) const = default;
};

/// What a block of queries meets of the keys, or a block of keys of the queries.
struct BlockRow {
  Stretch hull;  // from the first place that the mask allows to the last, by blocks
  std::span<const Stretch> runs;  // what is computed: neighbours are one run
};

/// The blocks of the masks of a batch.
class MaskBlocks {
 public:
  /// `mask`: (batch, queries, keys), 0 where a query may look at a key; null: everywhere. Allocates
  /// nothing when called again with the same sizes and no more runs.
  void find(std::int64_t batch, std::int64_t queries, std::int64_t keys, const float* mask,
            ForbiddenBlocks = ForbiddenBlocks::kSkipped);

  /// By batch item and block.
  BlockRow keys_of(std::int64_t item, std::int64_t block) const {
    return by_query_.row(item * score_blocks(queries_) + block);
  }
  BlockRow queries_of(std::int64_t item, std::int64_t block) const {
    return by_key_.row(item * score_blocks(keys_) + block);
  }
  /// Of all batch items together, of one head.
  const BlockCount& count() const { return count_; }

 private:
  struct Side {
    std::vector<Stretch> hulls, runs;
    std::vector<std::size_t> first;  // of runs, by row; one entry more than rows
    void clear();
    void add(std::int64_t blocks, std::int64_t places, Stretch hull, const std::uint8_t* allowed,
             std::int64_t step);
    BlockRow row(std::int64_t i) const;
  };

  std::int64_t queries_ = 0, keys_ = 0;
  Side by_query_, by_key_;
  BlockCount count_;
  std::vector<std::uint8_t> computed_;  // of one batch item: (block of queries, block of keys)
};

/// The blocks of one head's scores over `tokens` tokens, the first `memory` keys before them, and
/// how many of them attention in one piece computes with this mask.
BlockCount count_blocks(const MaskSpec&, int tokens, int memory = 0);

}  // namespace headlight
