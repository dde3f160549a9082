// Where lines of running text may break: after spaces, and between Chinese characters except where
// punctuation must stay with its word.
#pragma once

#include <functional>
#include <string_view>

namespace headlight {

/// How many bytes of `words` (at least one character) stand on its first line when it may be
/// `width` wide and `advance` says how wide each character is. A new line ends it.
std::size_t first_line(std::string_view words, float width,
                       const std::function<float(char32_t)>& advance);

}  // namespace headlight
