// Which lines of a kernel make its cells, as the shaders themselves say: see shaders/common.glsl.
#pragma once

#include <string_view>
#include <vector>

#include "app/gl/compute/source.h"
#include "core/view/kernel_view.h"

namespace headlight {

/// The file and those that it includes, with the lines marked "// cell" in the functions that
/// main() leads to, of what is compiled with these `defines` ("#define GROUP 32\n"). Throws Error
/// for a file that is not there.
std::vector<KernelSource> kernel_sources(std::string_view file, std::string_view defines,
                                         const GlTexts&);

}  // namespace headlight
