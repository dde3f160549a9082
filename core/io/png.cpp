#include "core/io/png.h"

#include <cstdint>

#include "core/base/error.h"

// Static, so that another copy of stb in the program (a library's own) cannot clash with this one.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#define STB_IMAGE_WRITE_STATIC
#define STBI_WRITE_NO_STDIO
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image_write.h>
#pragma GCC diagnostic pop

namespace headlight {
namespace {

// stb counts bytes in int and doubles its buffers; a quarter of the range is safe.
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 29;

std::string size_text(int width, int height) {
  return std::to_string(width) + " x " + std::to_string(height) + " pixels";
}

std::int64_t checked_bytes(int width, int height) {
  if (width < 1 || height < 1) {
    throw Error("A picture needs at least 1 x 1 pixels, but " + size_text(width, height) +
                " were asked for. Choose a larger size.");
  }
  const std::int64_t bytes = std::int64_t{4} * width * height;
  if (std::int64_t{width} * height > kMaxBytes / 4) {
    throw Error("A picture may have up to 134217728 pixels, but this one is " +
                size_text(width, height) + ". Choose a smaller size.");
  }
  return bytes;
}

void append_bytes(void* context, void* data, int size) {
  static_cast<std::string*>(context)->append(static_cast<const char*>(data),
                                             static_cast<std::size_t>(size));
}

}  // namespace

std::string encode_png(int width, int height, std::span<const std::uint8_t> rgba) {
  const std::int64_t expected = checked_bytes(width, height);
  if (static_cast<std::int64_t>(rgba.size()) != expected) {
    throw Error("A picture of " + size_text(width, height) + " needs " + std::to_string(expected) +
                " bytes, but " + std::to_string(rgba.size()) + " came. Pass 4 bytes per pixel.");
  }
  std::string out;
  if (stbi_write_png_to_func(append_bytes, &out, width, height, 4, rgba.data(), width * 4) == 0) {
    throw Error("There was not enough memory to write a picture of " + size_text(width, height) +
                ". Choose a smaller size.");
  }
  return out;
}

}  // namespace headlight
