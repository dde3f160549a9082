#include "app/platform/size.h"

#include <charconv>

#include "core/base/error.h"

namespace headlight {

std::pair<int, int> parse_size(const std::string& text) {
  const std::size_t x = text.find_first_of("xX");
  int width = 0, height = 0;
  if (x != std::string::npos) {
    std::from_chars(text.data(), text.data() + x, width);
    const auto [at, error] =
        std::from_chars(text.data() + x + 1, text.data() + text.size(), height);
    if (at != text.data() + text.size()) height = 0;
  }
  if (width < 64 || height < 64 || width > 16384 || height > 16384) {
    throw UsageError("a size is written as 1280x720, each side from 64 to 16384; got '" + text +
                     "'");
  }
  return {width, height};
}

}  // namespace headlight
