// AddedMask: numbers of the person's own that attention's scores get added before softmax, as the
// field's modules take them (attn_mask of PyTorch's MultiheadAttention).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace headlight {

struct NumberArray;

/// One matrix for all heads, or one for each. −∞ forbids a key. Copies share the numbers, since a
/// document is copied with every edit.
struct AddedMask {
  int heads = 0;                                    // 0: the same for all heads
  int tokens = 0;                                   // 0: there is none
  std::shared_ptr<const std::vector<float>> cells;  // (heads, or 1; tokens, tokens)

  bool empty() const { return tokens == 0; }
  /// The numbers of a query for the keys of `tokens` tokens.
  const float* row(int head, int query) const;
  bool operator==(const AddedMask&) const;
};

/// (T, T) or (heads, T, T) numbers, or true and false, true being forbidden as in
/// MultiheadAttention. Throws UsageError for another shape, NaN and +∞, and for more than
/// kMostAddedCells cells.
AddedMask added_mask(const NumberArray&);
inline constexpr std::int64_t kMostAddedCells = std::int64_t{1} << 22;

}  // namespace headlight
