// Pictures as PNG bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace headlight {

/// The bytes of a PNG file. `rgba` has width * height * 4 bytes, rows from the top. Throws Error
/// when it has not, when a side is less than 1, or for more than 512 MiB of pixels.
std::string encode_png(int width, int height, std::span<const std::uint8_t> rgba);

}  // namespace headlight
