// Texts that may have come from a file, to be written where control characters would act: a
// terminal.
#pragma once

#include <string>
#include <string_view>

namespace headlight {

/// The text with control characters, but for line breaks and tabs, and with invisible ones that
/// move their neighbours as visible_label() shows them: "␛", "U+202E". Invalid bytes become U+FFFD.
std::string printable(std::string_view text);

}  // namespace headlight
