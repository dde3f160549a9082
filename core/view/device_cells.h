// Which stretches of memory also lie in buffers of the graphics card, so that pictures of them need
// no copy. Plain numbers: whoever has OpenGL knows what a buffer is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace headlight {

struct DeviceCells {
  struct Stretch {
    const float* begin = nullptr;
    std::int64_t cells = 0;
    unsigned buffer = 0;  // its floats are those from `begin` on, in their order
  };
  std::vector<Stretch> stretches;    // ascending by `begin`, none within another
  std::shared_ptr<const void> keep;  // as long as this lives, nobody writes the buffers

  void add(const Stretch& stretch) { stretches.push_back(stretch); }
  void sort() {
    std::sort(stretches.begin(), stretches.end(),
              [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
  }
  /// The stretch that this number lies in; null: none.
  const Stretch* find(const float* cell) const {
    const auto after = std::upper_bound(
        stretches.begin(), stretches.end(), cell,
        [](const float* one, const Stretch& stretch) { return one < stretch.begin; });
    if (after == stretches.begin()) return nullptr;
    const Stretch& found = *(after - 1);
    return cell < found.begin + found.cells ? &found : nullptr;
  }
};

}  // namespace headlight
