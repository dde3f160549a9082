// "Did you mean …": the names nearest to one that does not exist.
#pragma once

#include <span>
#include <string_view>

#include "core/base/message.h"

namespace headlight {

/// "did you mean 'a' or 'b'? ", or nothing at all when none is near.
Message did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace headlight
