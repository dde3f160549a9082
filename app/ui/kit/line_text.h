// Lines and sentences: a text of several lines in a field of one line, sentences in a row.
#pragma once

#include <string>
#include <string_view>

namespace headlight {

/// As to_field_text, and line ends, tabs and other controls are lent visible places too: ImGui's
/// field of one line would drop them and join the words on both sides. from_field_text brings them
/// back.
std::string to_line_text(std::string_view utf8);

/// Two sentences, one behind the other: with a space between them where the script has spaces.
inline std::string two_sentences(std::string_view first, std::string_view second) {
  const bool wide = first.ends_with("。") || first.ends_with("：");  // bring their own space
  return std::string(first) + (wide ? "" : " ") + std::string(second);
}

/// What an outside clipboard holds, with line ends as ours ("\n") and none at the end.
std::string pasted_text(std::string_view clipboard);

}  // namespace headlight
