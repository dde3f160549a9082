// Shaders with a mistake in them.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <string_view>

#include "app/gl/compute/source.h"
#include "app/gl/context/embedded.h"

namespace headlight::test {

/// `text` with `from`, which must be in it, replaced once by `to`.
inline std::string with_change(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}

/// The shaders as they are, but for `file`.
inline GlTexts texts_with(std::string_view file, std::string text) {
  return [file = std::string(file), own = std::make_shared<const std::string>(std::move(text))](
             std::string_view asked) -> std::string_view {
    return asked == file ? std::string_view(*own) : embedded_file(asked);
  };
}

/// The same with this change in the file's own text.
inline GlTexts texts_with(std::string_view file, std::string_view from, std::string_view to) {
  return texts_with(file, with_change(std::string(embedded_file(file)), from, to));
}

}  // namespace headlight::test
