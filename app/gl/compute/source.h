// The text of a kernel as the compiler gets it: with the files that it includes and its numbers.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headlight {

/// The text of a shader file by its path, such as "shaders/softmax.comp"; empty: there is none.
using GlTexts = std::function<std::string_view(std::string_view path)>;

struct GlSource {
  std::string text;
  std::vector<std::string> files;  // the compiler calls the n-th of them source string n

  /// "shaders/rows.glsl, line 12" for the first place that a compiler's message names; the main
  /// file alone where it names none.
  std::string place_in(std::string_view log) const;
};

/// Puts `defines` (whole lines) after the first line of a file, which is its #version, and the text
/// of "x.glsl", from the same folder, in the place of each line #include "x.glsl". Messages of the
/// compiler keep the files' own line numbers. Throws Error for a file that is not there.
GlSource gl_source(std::string_view file, std::string_view defines, const GlTexts& texts);

}  // namespace headlight
