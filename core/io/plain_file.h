// PlainFile: a file of numbers, which says at its beginning what is in it, so that nothing is read
// for long that cannot be right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "core/base/error.h"
#include "core/base/progress.h"
#include "core/io/file_steps.h"
#include "core/io/npy.h"

namespace headlight {

/// Does something stand at this path? Also a link to itself, and what may not be looked at: whoever
/// opens it says what is wrong with it.
bool is_there(const std::filesystem::path&);

/// Calls `read`; an Error of it names the file.
template <class Read>
auto naming_file(const std::filesystem::path& path, Read read) {
  try {
    return read();
  } catch (const Cancelled&) {
    throw;
  } catch (const Error& error) {
    if (std::string(error.what()).find(path.string()) != std::string::npos) throw;
    const Message named =
        Message{"checkpoint.in_file", {{"path", shown(path)}}}.with(error.message());
    if (dynamic_cast<const UsageError*>(&error)) throw UsageError(named);
    throw Error(named);
  }
}

class PlainFile {
 public:
  /// Opens it. Throws Error when it is missing, unreadable, larger than `max_bytes`, a folder, or
  /// no plain file: a device or a pipe may go on for ever.
  PlainFile(std::filesystem::path path, std::uint64_t max_bytes);

  /// In bytes, as it was when it was opened.
  std::uint64_t size() const { return size_; }
  int descriptor() const { return file_.get(); }
  /// Its first bytes, or all that there are. Throws Error.
  std::string head(std::size_t bytes) const;
  /// All of them. Throws Error when there are fewer by now.
  std::string all() const;

 private:
  std::filesystem::path path_;
  Descriptor file_;
  std::uint64_t size_ = 0;
};

/// parse_npy_integers() of such a file, whose header is checked against its size before the numbers
/// are read.
NpyIntegers read_npy_integers(const std::filesystem::path&, std::uint64_t max_bytes);

}  // namespace headlight
