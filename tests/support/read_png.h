// Pictures that the program wrote, read again.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace headlight {

/// A picture: rows from the top, 4 bytes (red, green, blue, alpha) per pixel.
struct Picture {
  int width = 0;   // pixels
  int height = 0;  // pixels
  std::vector<std::uint8_t> rgba;
};

/// The picture in a PNG file, any colour type as 8-bit RGBA. Throws Error when the bytes are no
/// PNG, damaged, or more than 512 MiB of pixels.
Picture decode_png(std::string_view bytes);

}  // namespace headlight
