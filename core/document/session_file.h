// Session files (.headlight.json): what the person made, readable, written whole or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/message.h"
#include "core/document/document.h"

namespace headlight {

inline constexpr int kSessionVersion = 1;

/// What a session knows of the weights of its document's model.
struct SessionWeights {
  std::uint64_t mark = 0;  // weights_mark() (core/model/model.h) when it was saved; 0: not known
  bool own = false;        // their folder was written with the session, and by nothing else
  bool operator==(const SessionWeights&) const = default;
};

struct SessionFile {
  Document document;
  SessionWeights weights = {};
  std::vector<Message> notes = {};  // what had to be changed to make sense of the file
};

/// The text of a session file that is to lie in `folder` ("": anywhere): a model that lies in it is
/// named from there, so that the two can be moved together.
std::string session_text(const Document&, const SessionWeights& = {},
                         const std::string& folder = {});

/// Reads the text of a session file. Throws Error for anything that is not a session of this
/// version with values in range; the message names the key, what was expected and what came.
SessionFile parse_session(std::string_view text);

/// The folder that a file lies in, whole.
std::string folder_of(const std::string& path);

/// A model that is named from the session's folder is named whole in the document. Throws Error:
/// missing, unreadable, truncated, of another version …
SessionFile read_session(const std::string& path);

/// Throws Error; the old file is then unchanged.
void write_session(const std::string& path, const Document&);

}  // namespace headlight
