// MappedFile: the bytes of a file where they are, without a copy. A file that becomes shorter while
// it is mapped is no crash: what is gone reads as zeros, and whoever read can ask whether it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace headlight {

class MappedFile {
 public:
  /// Maps the first `size` bytes of an open file, to be read from front to back. The file may be
  /// closed or deleted afterwards. Null where that cannot be done (it is a pipe, a file system does
  /// not do it, too many are mapped at once): then it has to be read.
  static std::unique_ptr<MappedFile> map(int fd, std::size_t size);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return {begin_, size_}; }

  /// The first `count` bytes have been read: their memory is given back. They can still be read,
  /// from the file again.
  void passed(std::size_t count);

  /// What has happened to the file since it was mapped. Unless it is kWhole, what was read of
  /// bytes() is not what it was, and must not be used.
  enum class State {
    kWhole,       // the same bytes; something may have been added behind them
    kShorter,     // it was cut off
    kWritten,     // other bytes were put in their place
    kUnreadable,  // the disk did not give some of them
  };
  State state() const;
  /// kShorter: how many bytes there still are, or were when they were read.
  std::size_t left() const;

 private:
  MappedFile(int fd, const char* begin, std::size_t size, int slot);

  int fd_;
  const char* begin_;
  std::size_t size_;
  int slot_;                             // of the guard
  std::size_t passed_ = 0;               // bytes
  std::size_t whole_ = 0;                // the file's own size when it was mapped
  std::int64_t seconds_ = 0, nano_ = 0;  // when it was last written, then
};

/// These bytes of a mapped file will be read now, all of them: fewer interruptions than page by
/// page. Only asks the system.
void will_read(std::string_view bytes);

/// They have been read: their memory may go. They can still be read, from the file again.
void was_read(std::string_view bytes);

}  // namespace headlight
