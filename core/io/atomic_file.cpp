#include "core/io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>

#include "core/error.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

std::string shown(const fs::path& path) { return "'" + path.string() + "'"; }

// The words of strerror, which itself is not safe between threads.
MessageSlot reason(int error) {
  switch (error) {
    case ENOENT:
      return {"reason", "file.reason.missing", true};
    case EACCES:
      return {"reason", "file.reason.denied", true};
    case EPERM:
      return {"reason", "file.reason.not_permitted", true};
    case ENOSPC:
      return {"reason", "file.reason.no_space", true};
    case EROFS:
      return {"reason", "file.reason.read_only", true};
    case ENOTDIR:
      return {"reason", "file.reason.not_a_folder", true};
    default:
      return {"reason", std::generic_category().message(error)};
  }
}

// The text id of what to do.
std::string advice(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "file.advice.space";
    case EFBIG:
      return "file.advice.too_big";
    case EACCES:
    case EPERM:
      return "file.advice.permissions";
    case EROFS:
      return "file.advice.read_only";
    case ENOENT:
    case ENOTDIR:
      return "file.advice.folder";
    case ENAMETOOLONG:
      return "file.advice.shorter";
    case ELOOP:
      return "file.advice.links";
    default:
      return "file.advice.disk";
  }
}

[[noreturn]] void fail_to_save(const fs::path& path, int error, bool plain_file = true) {
  throw Error(Message{plain_file ? "file.not_saved" : "file.not_written",
                      {{"path", shown(path)}, reason(error), {"advice", advice(error), true}}});
}

[[noreturn]] void fail_to_read(const fs::path& path, int error) {
  const char* advice = error == ENOENT   ? "file.advice.spelling"
                       : error == EACCES ? "file.advice.owner"
                                         : "file.advice.other_file";
  throw Error(
      Message{"file.not_read", {{"path", shown(path)}, reason(error), {"advice", advice, true}}});
}

// Closes on every way out; `close` reports what a late write (network disks) had to say.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int close() {
    const int result = ::close(fd_);
    fd_ = -1;
    return result;
  }

 private:
  int fd_;
};

// Removes the temporary file unless it has become the real one.
struct Temporary {
  fs::path path;
  bool keep = false;
  ~Temporary() {
    if (!keep) ::unlink(path.c_str());
  }
};

// 0 or the error number.
int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), std::min(bytes.size(), std::size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

// Follows symbolic links at the last step of the path, also to a file that is not there yet.
fs::path follow_links(const fs::path& path) {
  constexpr int kMaxLinks = 40;  // Linux's own limit
  fs::path target = path;
  for (int i = 0; i < kMaxLinks; ++i) {
    std::error_code ignored;
    if (!fs::is_symlink(target, ignored)) return target;
    std::error_code error;
    const fs::path next = fs::read_symlink(target, error);
    if (error) fail_to_save(path, error.value());
    target = target.parent_path() / next;  // an absolute `next` replaces the whole path
  }
  fail_to_save(path, ELOOP);
}

// Opens a new file beside the target. Not mkstemp: that would make every saved file private (0600).
int open_temporary(const fs::path& folder, mode_t mode, fs::path& name) {
  for (int n = 0; n < 1000; ++n) {
    name = folder / (".headlight-" + std::to_string(::getpid()) + "-" + std::to_string(n) + ".tmp");
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

// Makes the rename itself survive a power cut. Some file systems cannot do it for folders, and the
// contents are safe either way, so a failure is not reported.
void flush_folder(const fs::path& folder) {
  const Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() >= 0) (void)::fsync(fd.get());
}

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
  Temporary temporary;
  Descriptor fd(open_temporary(folder, 0666, temporary.path));
  if (fd.get() < 0) {
    const int error = errno;
    temporary.keep = true;  // none was made; a file of that name would be someone else's
    fail_to_save(path, error);
  }
  if (exists && ::fchmod(fd.get(), old.st_mode & 07777) != 0) fail_to_save(path, errno);
  if (const int error = write_all(fd.get(), bytes)) fail_to_save(path, error);
  if (::fsync(fd.get()) != 0) fail_to_save(path, errno);
  if (fd.close() != 0) fail_to_save(path, errno);
  if (::rename(temporary.path.c_str(), target.c_str()) != 0) fail_to_save(path, errno);
  temporary.keep = true;
  flush_folder(folder);
}

std::string read_file(const fs::path& path, std::uint64_t max_bytes) {
  const auto too_large = [&](const std::string& size) {
    throw Error(
        Message{"file.too_large",
                {{"path", shown(path)}, {"limit", std::to_string(max_bytes)}, {"size", size}}});
  };
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) fail_to_read(path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) fail_to_read(path, errno);
  if (S_ISDIR(info.st_mode)) {
    throw Error(Message{"file.read_is_folder", {{"path", shown(path)}}});
  }
  const auto size = static_cast<std::uint64_t>(std::max<off_t>(info.st_size, 0));
  if (size > max_bytes) too_large(std::to_string(size));

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
    if (used > max_bytes) too_large("> " + std::to_string(max_bytes));
  }
  bytes.resize(used);
  return bytes;
}

}  // namespace headlight
