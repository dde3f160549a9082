#include "core/autodiff/live_blocks.h"

#include <algorithm>

namespace headlight {

std::size_t place_blocks(std::vector<LiveBlock>& blocks, std::size_t begin) {
  std::size_t end = begin;
  std::vector<LiveBlock> placed;  // by offset
  for (LiveBlock& block : blocks) {
    block.offset = begin;
    for (const LiveBlock& other : placed) {
      if (other.offset >= block.offset + block.cells) break;
      if (other.last >= block.first && other.first <= block.last)
        block.offset = std::max(block.offset, other.offset + other.cells);
    }
    end = std::max(end, block.offset + block.cells);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), block.offset,
                         [](std::size_t offset, const LiveBlock& b) { return offset < b.offset; }),
        block);
  }
  return end;
}

}  // namespace headlight
