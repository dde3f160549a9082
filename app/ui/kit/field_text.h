// Field texts: what ImGui's fields can hold. Characters above U+FFFF do not fit its 16-bit text,
// and it drops private ones. Each that is seen is lent a place among rare characters, both ways, so
// that nothing typed or pasted is lost on the way through a field.
#pragma once

#include <string>
#include <string_view>

namespace headlight {

std::string to_field_text(std::string_view utf8);
std::string from_field_text(std::string_view field);

/// The place of one character (itself when it fits).
unsigned to_field_character(unsigned code_point);
/// The same, and control characters are lent a place, too.
unsigned to_line_character(unsigned code_point);
/// Is this a place that may be lent?
bool is_lent(unsigned place);
/// The character that is drawn at a lent place; 0 where none is.
unsigned picture_at(unsigned place);

}  // namespace headlight
