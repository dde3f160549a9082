#include "core/graph/mask_blocks.h"

#include <algorithm>

#include "core/graph/program_memory.h"

namespace headlight {
namespace {

// Which blocks of keys some of these rows may look at. Row after row, as the mask lies in memory.
void mark_allowed(const float* mask, std::int64_t rows, std::int64_t keys, std::uint8_t* allowed) {
  for (std::int64_t r = 0; r < rows; ++r, mask += keys) {
    for (std::int64_t j = 0; j < keys; j += kScoreBlock) {
      if (allowed[j / kScoreBlock]) continue;
      const std::int64_t end = std::min(j + kScoreBlock, keys);
      int any = 0;
      for (std::int64_t k = j; k < end; ++k) any |= mask[k] == 0;
      allowed[j / kScoreBlock] = any != 0;
    }
  }
}

// From the first block that is marked to the last, in places.
Stretch hull_of(const std::uint8_t* allowed, std::int64_t blocks, std::int64_t places) {
  std::int64_t begin = 0, end = blocks;
  while (begin < end && !allowed[begin]) ++begin;
  while (end > begin && !allowed[end - 1]) --end;
  if (begin == end) return {};
  return {begin * kScoreBlock, std::min(end * kScoreBlock, places)};
}

}  // namespace

BlockCount& BlockCount::operator+=(const BlockCount& other) {
  computed += other.computed;
  all += other.all;
  return *this;
}

void MaskBlocks::Side::clear() {
  hulls.clear();
  runs.clear();
  first.assign(1, 0);
}

// A row whose i-th block is computed where computed[i · step] is not 0.
void MaskBlocks::Side::add(std::int64_t blocks, std::int64_t places, Stretch hull,
                           const std::uint8_t* computed, std::int64_t step) {
  hulls.push_back(hull);
  for (std::int64_t i = 0; i < blocks; ++i) {
    if (!computed[i * step]) continue;
    const Stretch block{i * kScoreBlock, std::min((i + 1) * kScoreBlock, places)};
    if (runs.size() > first.back() && runs.back().end == block.begin) {
      runs.back().end = block.end;
    } else {
      runs.push_back(block);
    }
  }
  first.push_back(runs.size());
}

BlockRow MaskBlocks::Side::row(std::int64_t i) const {
  const auto at = static_cast<std::size_t>(i);
  return {hulls[at], std::span(runs).subspan(first[at], first[at + 1] - first[at])};
}

// A block of keys goes from the first block of queries whose keys reach over it to the last, be it
// forbidden itself or not: where sums are cut follows from it.
void MaskBlocks::find(std::int64_t batch, std::int64_t queries, std::int64_t keys,
                      const float* mask, ForbiddenBlocks forbidden) {
  queries_ = queries;
  keys_ = keys;
  by_query_.clear();
  by_key_.clear();
  const std::int64_t rows = score_blocks(queries), columns = score_blocks(keys);
  count_ = {0, batch * rows * columns};
  for (std::int64_t b = 0; b < batch; ++b) {
    computed_.assign(static_cast<std::size_t>(rows * columns), mask == nullptr);
    for (std::int64_t i = 0; i < rows; ++i) {
      std::uint8_t* row = computed_.data() + i * columns;
      const std::int64_t first = i * kScoreBlock;
      if (mask)
        mark_allowed(mask + (b * queries + first) * keys, std::min(kScoreBlock, queries - first),
                     keys, row);
      const Stretch hull = hull_of(row, columns, keys);
      if (forbidden == ForbiddenBlocks::kComputed) std::fill_n(row, columns, std::uint8_t{1});
      by_query_.add(columns, keys, hull, row, 1);
      count_.computed += std::count(row, row + columns, 1);
    }
    for (std::int64_t j = 0; j < columns; ++j) {
      Stretch hull;
      for (std::int64_t i = 0; i < rows; ++i) {
        const Stretch reach = by_query_.hulls[static_cast<std::size_t>(b * rows + i)];
        if (j * kScoreBlock < reach.begin || j * kScoreBlock >= reach.end) continue;
        if (hull.end == 0) hull.begin = i * kScoreBlock;
        hull.end = std::min((i + 1) * kScoreBlock, queries);
      }
      by_key_.add(rows, queries, hull, computed_.data() + j, columns);
    }
  }
}

BlockCount count_blocks(const MaskSpec& spec, int tokens, int memory) {
  std::vector<float> mask(static_cast<std::size_t>(tokens) *
                          static_cast<std::size_t>(memory + tokens));
  fill_mask(spec, tokens, mask.data(), memory);
  MaskBlocks blocks;
  blocks.find(1, tokens, memory + tokens, mask.data());
  return blocks.count();
}

}  // namespace headlight
