// Bytes as text, RFC 4648.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headlight {

std::string to_base64(std::string_view bytes);
/// Up to the first '='; nothing where a character is none of base64's.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace headlight
