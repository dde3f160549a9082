// Text files that the build puts into the program (cmake/embed.cmake writes the definition).
#pragma once

#include <string_view>

namespace headlight {

/// The text of a file by its path from the repository root, such as "shaders/heatmap.frag"; empty
/// when the build did not embed that file.
std::string_view embedded_file(std::string_view name);

}  // namespace headlight
