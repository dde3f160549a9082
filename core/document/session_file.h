// Session files (.headlight.json): what the person made, readable, written whole or not at all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/message.h"
#include "core/document/document.h"

namespace headlight {

inline constexpr int kSessionVersion = 1;

struct SessionFile {
  Document document;
  std::vector<Message> notes;  // what had to be changed to make sense of the file
};

/// The text of a session file.
std::string session_text(const Document&);

/// Reads the text of a session file. Throws Error for anything that is not a session of this
/// version with values in range; the message names the key, what was expected and what came.
SessionFile parse_session(std::string_view text);

/// Throws Error: missing, unreadable, truncated, of another version …
SessionFile read_session(const std::string& path);

/// Throws Error; the old file is then unchanged.
void write_session(const std::string& path, const Document&);

}  // namespace headlight
