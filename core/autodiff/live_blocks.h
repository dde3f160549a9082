// Memory for tensors that are not all needed at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headlight {

/// So many floats for `owner`, needed from the step `first` to the step `last`, both included.
struct LiveBlock {
  int owner = -1;
  std::size_t cells = 0, offset = 0;
  std::size_t first = SIZE_MAX, last = 0;
};

/// Gives each in turn the lowest offset, from `begin` on, that no block before it needs at the same
/// time. Returns where the last one ends.
std::size_t place_blocks(std::vector<LiveBlock>&, std::size_t begin);

}  // namespace headlight
