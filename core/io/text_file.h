// Large text files: read in pieces, with progress, and checked to be text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/progress.h"
#include "core/text/message.h"

namespace headlight {

inline constexpr std::uint64_t kMaxTextBytes = std::uint64_t{1} << 30;

struct TextFile {
  std::string text;            // valid UTF-8, without a byte order mark
  std::vector<Message> notes;  // what had to be changed
};

/// Reads a whole text file. It is copied in pieces, so that a file that is deleted meanwhile is
/// read to its end, and one that is cut off meanwhile is an Error. Throws Error for what read_file
/// throws it for and for what checked_text refuses; Cancelled.
TextFile read_text_file(const std::filesystem::path& path, const ProgressFunction& progress = {});

/// The same checks for a text that is there already; `file` fills {file} in messages. Invalid UTF-8
/// becomes U+FFFD, with a note. Throws Error for an empty text, one with NUL bytes (it is not
/// text), one in UTF-16, and one in which more than 1 byte in 100 is not UTF-8.
TextFile checked_text(std::string text, const MessageSlot& file,
                      const ProgressFunction& progress = {});

}  // namespace headlight
