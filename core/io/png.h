// Pictures as PNG bytes and back.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight {

/// A picture: rows from the top, 4 bytes (red, green, blue, alpha) per pixel.
struct Picture {
  int width = 0;   // pixels
  int height = 0;  // pixels
  std::vector<std::uint8_t> rgba;
};

/// The bytes of a PNG file. `rgba` has width * height * 4 bytes, rows from the top. Throws Error
/// when it has not, when a side is less than 1, or for more than 512 MiB of pixels.
std::string encode_png(int width, int height, std::span<const std::uint8_t> rgba);

/// The picture in a PNG file, any colour type as 8-bit RGBA. Throws Error when the bytes are no
/// PNG, damaged, or more than 512 MiB of pixels.
Picture decode_png(std::string_view bytes);

}  // namespace headlight
