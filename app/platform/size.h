// "1280x720".
#pragma once

#include <string>
#include <utility>

namespace headlight {

/// "1280x720" -> {1280, 720}, in pixels; throws UsageError.
std::pair<int, int> parse_size(const std::string&);

}  // namespace headlight
