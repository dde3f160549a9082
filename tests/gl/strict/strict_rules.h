// How large the buffers of each kernel have to be, and how many groups it needs, as its uniforms
// say.
#pragma once

#include <string_view>
#include <vector>

namespace headlight::test {

/// Formulas (evaluate(), strict_shader.h) of the kernel's uniforms and of `matrices`, its number of
/// groups along the third axis.
struct StrictRule {
  std::string_view file;
  /// What there is to do: invocations of KernelShape::kCells, groups of kRows, columns of kColumns,
  /// rows of the result of kAttention. Of kProduct the shader's own ROWS and COLUMNS say it, and
  /// this is empty.
  std::string_view work;
  /// How many cells each binding has, all of which are read, or written, or both. One of none is
  /// not touched.
  std::vector<std::string_view> cells;
};

/// Null where there is none: add a row with the kernel.
const StrictRule* strict_rule(std::string_view file);

}  // namespace headlight::test
