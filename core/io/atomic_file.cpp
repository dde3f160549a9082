#include "core/io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/error.h"
#include "core/io/file_steps.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

void write_directly(const fs::path& path, std::string_view bytes) {
  Descriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd.get() < 0) fail_to_save(path, errno, false);
  if (const int error = write_all(fd.get(), bytes)) fail_to_save(path, error, false);
}

}  // namespace

void write_file_atomic(const fs::path& path, std::string_view bytes) {
  struct stat old {};
  const bool exists = ::stat(path.c_str(), &old) == 0;
  if ((exists && S_ISDIR(old.st_mode)) || path.empty() || path.filename().empty()) {
    throw Error(Message{"file.save_is_folder", {{"path", shown(path)}}});
  }
  if (exists && !S_ISREG(old.st_mode)) return write_directly(path, bytes);

  const fs::path target = follow_links(path);
  // A rename would replace even a file that is marked as not to be written; ask first.
  if (exists && ::access(target.c_str(), W_OK) != 0) fail_to_save(path, errno);
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  Temporary temporary(folder, Temporary::Kind::kFile);
  if (temporary.error() != 0) fail_to_save(path, temporary.error());
  Descriptor& fd = temporary.file();
  if (exists && ::fchmod(fd.get(), old.st_mode & 07777) != 0) fail_to_save(path, errno);
  if (const int error = write_all(fd.get(), bytes)) fail_to_save(path, error);
  if (::fsync(fd.get()) != 0) fail_to_save(path, errno);
  // The lock has to last, so it is a copy that is closed.
  if (Descriptor(::dup(fd.get())).close() != 0) fail_to_save(path, errno);
  if (::rename(temporary.path().c_str(), target.c_str()) != 0) fail_to_save(path, errno);
  temporary.release();
  flush_folder(folder);
}

std::string read_file(const fs::path& path, std::uint64_t max_bytes) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) fail_to_read(path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) fail_to_read(path, errno);
  if (S_ISDIR(info.st_mode)) {
    throw Error(Message{"file.read_is_folder", {{"path", shown(path)}}});
  }
  const auto size = static_cast<std::uint64_t>(std::max<off_t>(info.st_size, 0));
  if (size > max_bytes) fail_too_large(path, max_bytes, std::to_string(size));

  // The size is only a first guess: pipes say 0, and a file may grow meanwhile.
  constexpr std::size_t kChunk = std::size_t{1} << 16;
  std::string bytes;
  bytes.resize(static_cast<std::size_t>(size) + 1);
  std::size_t used = 0;
  for (;;) {
    if (used == bytes.size()) bytes.resize(bytes.size() + std::max(kChunk, bytes.size() / 2));
    const ssize_t n =
        ::read(fd.get(), bytes.data() + used, std::min(bytes.size() - used, std::size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_to_read(path, errno);
    if (n == 0) break;
    used += static_cast<std::size_t>(n);
    if (used > max_bytes) fail_too_large(path, max_bytes, "> " + std::to_string(max_bytes));
  }
  bytes.resize(used);
  return bytes;
}

}  // namespace headlight
