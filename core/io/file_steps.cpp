#include "core/io/file_steps.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <unordered_map>

#include "core/base/error.h"

namespace headlight {

namespace fs = std::filesystem;

std::string shown(const fs::path& path) { return "'" + path.string() + "'"; }

namespace {

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
  static const std::unordered_map<int, const char*> kAdvice = {
      {ENOSPC, "space"},         {EDQUOT, "space"},    {EFBIG, "too_big"}, {EACCES, "permissions"},
      {EPERM, "permissions"},    {EROFS, "read_only"}, {ENOENT, "folder"}, {ENOTDIR, "folder"},
      {ENAMETOOLONG, "shorter"}, {ELOOP, "links"}};
  const auto known = kAdvice.find(error);
  return std::string("file.advice.") + (known == kAdvice.end() ? "disk" : known->second);
}

}  // namespace

void fail_to_save(const fs::path& path, int error, bool plain_file) {
  throw Error(Message{plain_file ? "file.not_saved" : "file.not_written",
                      {{"path", shown(path)}, reason(error), {"advice", advice(error), true}}});
}

void fail_to_read(const fs::path& path, int error) {
  const char* advice = error == ENOENT   ? "file.advice.spelling"
                       : error == EACCES ? "file.advice.owner"
                                         : "file.advice.other_file";
  throw Error(
      Message{"file.not_read", {{"path", shown(path)}, reason(error), {"advice", advice, true}}});
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

int Descriptor::close() {
  const int result = ::close(fd_);
  fd_ = -1;
  return result;
}

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), std::min(bytes.size(), std::size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

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

void flush_folder(const fs::path& folder) {
  const Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() >= 0) (void)::fsync(fd.get());
}

}  // namespace headlight
