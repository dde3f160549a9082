// A text of several lines in a field of one line.
#pragma once

#include <string>
#include <string_view>

namespace headlight {

/// As to_field_text, and line ends, tabs and other controls are lent visible places too: ImGui's
/// field of one line would drop them and join the words on both sides. from_field_text brings them
/// back.
std::string to_line_text(std::string_view utf8);

/// What an outside clipboard holds, with line ends as ours ("\n") and none at the end.
std::string pasted_text(std::string_view clipboard);

}  // namespace headlight
