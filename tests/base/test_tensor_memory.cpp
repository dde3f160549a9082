#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include "core/base/tensor.h"

namespace headlight::test_tensor_memory {

using namespace headlight;

TEST_CASE("tensor memory: aligned, whole, and given back, whatever its size") {
  constexpr std::size_t kLarge = (std::size_t{2} << 20) / sizeof(float);  // cells
  for (const std::size_t cells : {std::size_t{1}, kLarge - 1, kLarge, kLarge + 1, 3 * kLarge + 7}) {
    CAPTURE(cells);
    FloatBuffer buffer(cells, 1.0f);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % kTensorAlignment == 0);
    CHECK(std::ranges::count(buffer, 1.0f) == static_cast<std::ptrdiff_t>(cells));
    buffer.resize(2 * cells, 2.0f);
    CHECK(buffer.front() == 1.0f);
    CHECK(std::ranges::count(buffer, 2.0f) == static_cast<std::ptrdiff_t>(cells));
  }
}

// Caches take the place in a page as an address.
TEST_CASE("tensor memory: large tensors do not all begin at the same place of a page") {
  std::vector<FloatBuffer> tensors(12);
  std::set<std::uintptr_t> places;
  for (FloatBuffer& tensor : tensors) {
    tensor.resize(std::size_t{1} << 20);
    places.insert(reinterpret_cast<std::uintptr_t>(tensor.data()) % 4096);
  }
  CHECK(places.size() == tensors.size());
}

}  // namespace headlight::test_tensor_memory
