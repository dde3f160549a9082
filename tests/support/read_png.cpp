#include "tests/support/read_png.h"

#include <limits>
#include <memory>

#include "core/base/error.h"

// Static, so that another copy of stb in the program (a library's own) cannot clash with this one.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wtype-limits"
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#define STBI_NO_STDIO
#define STB_IMAGE_IMPLEMENTATION
#include <stb_image.h>
#pragma GCC diagnostic pop

namespace headlight {

Picture decode_png(std::string_view bytes) {
  const auto* data = reinterpret_cast<const stbi_uc*>(bytes.data());
  const auto fail = [](const std::string& why) {
    throw Error("Expected a PNG picture, but the file could not be read (" + why +
                "). Check that it is a complete .png file.");
  };
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) fail("too large");
  const int size = static_cast<int>(bytes.size());
  Picture picture;
  int channels = 0;
  // The size first: a file of a few bytes may claim a picture of gigabytes.
  if (stbi_info_from_memory(data, size, &picture.width, &picture.height, &channels) == 0) {
    fail(stbi_failure_reason());
  }
  const std::int64_t count = std::int64_t{4} * picture.width * picture.height;
  if (count > std::int64_t{1} << 29) fail("too many pixels");
  const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
      stbi_load_from_memory(data, size, &picture.width, &picture.height, &channels, 4),
      stbi_image_free);
  if (pixels == nullptr) fail(stbi_failure_reason());
  picture.rgba.assign(pixels.get(), pixels.get() + count);
  return picture;
}

}  // namespace headlight
