// "Did you mean …": the names nearest to one that does not exist.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace headlight {

/// "did you mean 'a' or 'b'? ", or "" when nothing is near.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace headlight
