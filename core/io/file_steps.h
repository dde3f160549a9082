// The steps that saving a file and saving a folder share. Their errors are errno's.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace headlight {

/// The path in quotes.
std::string shown(const std::filesystem::path&);

/// Throw Error: the path, the reason, and what to do.
[[noreturn]] void fail_to_save(const std::filesystem::path&, int error, bool plain_file = true);
[[noreturn]] void fail_to_read(const std::filesystem::path&, int error);

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

 private:
  int fd_;
};

/// 0 or the error number.
int write_all(int fd, std::string_view bytes);

/// Follows symbolic links at the last step of the path, also to a file that is not there yet.
std::filesystem::path follow_links(const std::filesystem::path&);

/// Makes a rename itself survive a power cut. Some file systems cannot do it for folders, and the
/// contents are safe either way, so a failure is not reported.
void flush_folder(const std::filesystem::path&);

}  // namespace headlight
