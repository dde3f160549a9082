// A field for a whole number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/ui/kit/ui.h"

namespace headlight {

/// What may stand in a number stays in its text, so that nothing is joined to what it does not say:
/// of "1,5" there is no 15. True in each frame that has typed, or as the flags have it.
bool whole_text_field(const char* id, std::string& text, ImGuiInputTextFlags flags = 0);
/// The number in it, with or without commas between thousands, as count_text() writes it; nothing
/// for any other text.
std::optional<std::uint64_t> typed_whole(std::string_view text);

}  // namespace headlight
