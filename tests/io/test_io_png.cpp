#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/io/png.h"
#include "tests/support/read_png.h"

namespace headlight::test_io_png {

TEST_CASE("png: round trip at several sizes") {
  std::mt19937 rng(6);
  const std::pair<int, int> sizes[] = {{1, 1}, {3, 2}, {1, 300}, {257, 1}, {64, 65}};
  for (const auto& [width, height] : sizes) {
    std::vector<std::uint8_t> rgba(static_cast<std::size_t>(width) *
                                   static_cast<std::size_t>(height) * 4);
    for (std::uint8_t& v : rgba) v = static_cast<std::uint8_t>(rng());
    const std::string bytes = encode_png(width, height, rgba);
    CHECK(bytes.substr(0, 8) == "\x89PNG\r\n\x1A\n");
    const Picture picture = decode_png(bytes);
    CHECK(picture.width == width);
    CHECK(picture.height == height);
    CHECK(picture.rgba == rgba);
  }
}

TEST_CASE("png: refusals") {
  const std::vector<std::uint8_t> four(4);
  CHECK_THROWS_AS(encode_png(0, 1, {}), Error);
  CHECK_THROWS_AS(encode_png(1, -1, four), Error);
  CHECK_THROWS_AS(encode_png(2, 1, four), Error);
  CHECK_THROWS_AS(encode_png(1 << 30, 1 << 30, four), Error);
  CHECK_THROWS_AS(decode_png(""), Error);
  CHECK_THROWS_AS(decode_png("not a picture"), Error);
  // A header that claims 2^24 - 1 pixels in each direction.
  std::string claim = encode_png(1, 1, four);
  claim.replace(16, 8, std::string("\x00\xFF\xFF\xFF\x00\xFF\xFF\xFF", 8));
  CHECK_THROWS_AS(decode_png(claim), Error);
  const std::string bytes = encode_png(1, 1, four);
  for (std::size_t size = 0; size + 16 < bytes.size(); ++size) {
    CHECK_THROWS_AS(decode_png(bytes.substr(0, size)), Error);
  }
}

}  // namespace headlight::test_io_png
