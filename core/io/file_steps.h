// The steps that saving a file and saving a folder share. Their errors are errno's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace headlight {

/// The path in quotes.
std::string shown(const std::filesystem::path&);

/// Throw Error: the path, the reason, and what to do.
[[noreturn]] void fail_to_save(const std::filesystem::path&, int error, bool plain_file = true);
[[noreturn]] void fail_to_read(const std::filesystem::path&, int error);
/// `size`: in words, "> 100" where only that is known.
[[noreturn]] void fail_too_large(const std::filesystem::path&, std::uint64_t max_bytes,
                                 const std::string& size);

/// An open file. Closes on every way out; close() reports what a late write (network disks) had to
/// say.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();
  int get() const { return fd_; }
  int close();
  /// Closes it, and is this one from now on.
  void reset(int fd);

 private:
  int fd_;
};

/// A file or a folder that is made beside the one whose place it is to take. It is locked while it
/// is made, so that other programs can tell it from what a killed one has left behind.
class Temporary {
 public:
  enum class Kind { kFile, kFolder };
  /// Makes it in this folder, and removes what killed programs have left there. Where it cannot be
  /// made, error() is not 0.
  Temporary(const std::filesystem::path& folder, Kind);
  /// Removes it, unless it was released: of a folder only the files that were named.
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  int error() const { return error_; }
  const std::filesystem::path& path() const { return path_; }
  Descriptor& file() { return file_; }
  /// A file in it, to be removed with it.
  std::filesystem::path add(const std::filesystem::path& name);
  /// It has another name now.
  void release() { made_ = false; }

 private:
  Kind kind_;
  std::filesystem::path path_;
  Descriptor file_{-1};
  std::vector<std::filesystem::path> names_;
  int error_ = 0;
  bool made_ = false;
};

/// 0 or the error number.
int write_all(int fd, std::string_view bytes);

/// Follows symbolic links at the last step of the path, also to a file that is not there yet.
std::filesystem::path follow_links(const std::filesystem::path&);

/// Makes a rename itself survive a power cut. Some file systems cannot do it for folders, and the
/// contents are safe either way, so a failure is not reported.
void flush_folder(const std::filesystem::path&);

}  // namespace headlight
