// Layers by their places, as a person writes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headlight {

/// "1,3,5" and back: sorted, each once; an empty text is none. Throws UsageError.
std::string layers_text(const std::vector<int>&);
std::vector<int> read_layers(std::string_view text);

}  // namespace headlight
