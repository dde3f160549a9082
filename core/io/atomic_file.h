// Whole files in, whole files out: a save that fails leaves the old file as it was.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace headlight {

/// Replaces the contents of `path` in one step: a temporary file in the same folder is written,
/// flushed to the disk and renamed over the old one, so a reader sees the old or the new contents,
/// never a mixture. A symbolic link stays a link (the file it points to is replaced); permissions
/// of an existing file are kept. What is not a plain file (/dev/stdout, a pipe) is written
/// directly. Throws Error with the path, the reason and what to do; the old file is then unchanged
/// and no temporary file remains.
void write_file_atomic(const std::filesystem::path& path, std::string_view bytes);

/// The contents of a file of at most `max_bytes` bytes. Throws Error when it is missing, a folder,
/// unreadable or larger.
std::string read_file(const std::filesystem::path& path, std::uint64_t max_bytes);

}  // namespace headlight
