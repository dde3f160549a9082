// Memory for tensors that are not all needed at the same time.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/tensor.h"

namespace headlight {

/// So many floats for `owner`, needed from the step `first` to the step `last`, both included.
struct LiveBlock {
  int owner = -1;
  std::size_t cells = 0, offset = 0;
  std::size_t first = SIZE_MAX, last = 0;
};

/// Room for so many floats, up to the next 64-byte boundary.
inline std::size_t padded_cells(std::int64_t cells) {
  constexpr std::size_t kLine = kTensorAlignment / sizeof(float);
  return (static_cast<std::size_t>(cells) + kLine - 1) / kLine * kLine;
}

/// Gives each in turn the lowest offset, from `begin` on, that no block before it needs at the same
/// time. Returns where the last one ends.
std::size_t place_blocks(std::vector<LiveBlock>&, std::size_t begin);

}  // namespace headlight
