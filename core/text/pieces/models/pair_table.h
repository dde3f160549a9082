// Which merge joins two ids: looked up for every pair of neighbours, so it is one flat table.
#pragma once

#include <cstdint>
#include <vector>

namespace headlight {

class PairTable {
 public:
  struct Merge {
    std::uint64_t key = kNone;
    std::int32_t rank = 0, made = 0;
  };

  /// Room for so many merges.
  explicit PairTable(std::size_t merges) {
    std::size_t slots = 16;
    while (slots < 2 * merges) slots *= 2;
    slots_.resize(slots);
  }

  /// A pair that is there already gets the new rank.
  void set(int left, int right, std::int32_t rank, std::int32_t made) {
    const std::uint64_t key = key_of(left, right);
    std::size_t at = slot_of(key);
    while (slots_[at].key != kNone && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {key, rank, made};
  }

  /// Null for none.
  const Merge* find(int left, int right) const {
    const std::uint64_t key = key_of(left, right);
    for (std::size_t at = slot_of(key);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].key == key) return &slots_[at];
      if (slots_[at].key == kNone) return nullptr;
    }
  }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  static std::uint64_t key_of(int left, int right) {
    return (static_cast<std::uint64_t>(left) << 32) | static_cast<std::uint32_t>(right);
  }
  std::size_t slot_of(std::uint64_t key) const {
    key *= 0x9E3779B97F4A7C15u;
    return static_cast<std::size_t>(key >> 24) & (slots_.size() - 1);
  }

  std::vector<Merge> slots_;
};

}  // namespace headlight
