// Large text files: read where they lie, with progress, and checked to be text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/message.h"
#include "core/base/progress.h"
#include "core/io/mapped_file.h"

namespace headlight {

/// Bytes begin to end − 1 of a file.
struct ByteRange {
  std::uint64_t begin = 0, end = 0;
  bool operator==(const ByteRange&) const = default;
};

inline constexpr std::uint64_t kMaxTextBytes = std::uint64_t{1} << 30;

/// A text that was checked. That of a file is not copied but read from the file again, which may
/// change meanwhile: see read().
class TextFile {
 public:
  explicit TextFile(std::string text) : own_(std::move(text)) {}
  /// The text is what the file has from byte `begin` on.
  TextFile(std::filesystem::path path, std::unique_ptr<MappedFile> mapped, std::size_t begin)
      : path_(std::move(path)), mapped_(std::move(mapped)), begin_(begin) {}

  std::vector<Message> notes;  // what had to be changed

  /// Valid UTF-8 without a byte order mark. Stays where it is for as long as this does.
  std::string_view text() const;
  /// The text has been read up to here: its memory is given back, until it is read again.
  void passed(std::size_t bytes) const;
  /// work(text()), whose result must not look into the text. Throws Error when the file was cut
  /// off or written anew meanwhile, whatever the work made of it: it must bear any bytes.
  template <class Work>
  auto read(const Work& work) const {
    try {
      auto result = work(text());
      check_whole();
      return result;
    } catch (const Cancelled&) {
      throw;
    } catch (const Error&) {
      check_whole();
      throw;
    }
  }

 private:
  void check_whole() const;

  std::string own_;
  std::filesystem::path path_;
  std::unique_ptr<MappedFile> mapped_;  // null: own_
  std::size_t begin_ = 0;
};

/// Opens a text file and reads it once, to check it. It is mapped where that can be done, otherwise
/// (a pipe), and where it has to be repaired, it is copied in pieces. A file that is deleted
/// meanwhile is read to its end, and one that is cut off meanwhile is an Error. Throws Error for
/// what read_file throws it for and for what checked_text refuses; Cancelled.
TextFile read_text_file(const std::filesystem::path& path, const ProgressFunction& progress = {});

/// The same checks for a text that is there already; `file` fills {file} in messages. Invalid UTF-8
/// becomes U+FFFD, with a note. Throws Error for an empty text, one with NUL bytes (it is not
/// text), one in UTF-16, and one in which more than 1 byte in 100 is not UTF-8.
TextFile checked_text(std::string text, const MessageSlot& file,
                      const ProgressFunction& progress = {});

}  // namespace headlight
