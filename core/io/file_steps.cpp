#include "core/io/file_steps.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
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
      {ENOSPC, "space"},       {EDQUOT, "space"},      {EFBIG, "too_big"},
      {EACCES, "permissions"}, {EPERM, "permissions"}, {EROFS, "read_only"},
      {ENOENT, "folder"},      {ENOTDIR, "folder"},    {ENAMETOOLONG, "shorter"},
      {ELOOP, "links"},        {EISDIR, "file_name"}};
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
                       : error == ELOOP  ? "file.advice.links"
                       : error == EACCES ? "file.advice.owner"
                                         : "file.advice.other_file";
  throw Error(
      Message{"file.not_read", {{"path", shown(path)}, reason(error), {"advice", advice, true}}});
}

void fail_too_large(const fs::path& path, std::uint64_t max_bytes, const std::string& size) {
  throw Error(
      Message{"file.too_large",
              {{"path", shown(path)}, {"limit", std::to_string(max_bytes)}, {"size", size}}});
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

int Descriptor::close() {
  const int result = ::close(fd_);
  fd_ = -1;
  return result;
}

void Descriptor::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
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

namespace {

// Not mkstemp: that would make every saved file private (0600).
std::string temporary_name(int n) {
  return ".headlight-" + std::to_string(::getpid()) + "-" + std::to_string(n) + ".tmp";
}

// The process that made one with this name; 0: it is none.
pid_t maker_of(const char* name) {
  int pid = 0, n = 0, end = 0;
  const bool matches = std::sscanf(name, ".headlight-%d-%d.tmp%n", &pid, &n, &end) == 2;
  return matches && end > 0 && name[end] == '\0' && pid > 0 ? pid : 0;
}

// A process of this number may run on another machine that shares the folder, or in another
// container: so the lock counts as well. Before the lock was taken the file may have been given its
// own name, and the temporary one to another's file.
bool is_abandoned(pid_t maker, int folder, const char* name, int fd) {
  const bool gone = maker == ::getpid() || (::kill(maker, 0) != 0 && errno == ESRCH);
  if (!gone || ::flock(fd, LOCK_EX | LOCK_NB) != 0) return false;
  struct stat opened {
  }, named{};
  return ::fstat(fd, &opened) == 0 && ::fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// Goes through the entries of a folder.
template <class Visit>
void for_entries(int folder, const Visit& visit) {
  const int own = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> list(own < 0 ? nullptr : ::fdopendir(own), ::closedir);
  if (!list) {
    if (own >= 0) ::close(own);
    return;
  }
  while (const dirent* entry = ::readdir(list.get())) visit(entry->d_name);
}

// What a killed program has left in a folder of its own: the files of a model, which it wrote there
// or which the new folder has replaced, and hard links to what someone else keeps in the new
// folder. Anything else stays, and the folder with it.
void empty_folder(int folder) {
  for_entries(folder, [&](const char* name) {
    struct stat info {};
    if (::fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode)) return;
    const std::string_view text = name;
    const bool own = text.ends_with(".json") || text.ends_with(".safetensors");
    if (own || info.st_nlink > 1) ::unlinkat(folder, name, 0);
  });
}

void remove_abandoned(const fs::path& parent) {
  const Descriptor folder(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return;
  for_entries(folder.get(), [&](const char* name) {
    const pid_t maker = maker_of(name);
    if (maker == 0) return;
    const Descriptor left(
        ::openat(folder.get(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat info {};
    if (left.get() < 0 || ::fstat(left.get(), &info) != 0) return;
    if (!is_abandoned(maker, folder.get(), name, left.get())) return;
    if (S_ISREG(info.st_mode)) ::unlinkat(folder.get(), name, 0);
    if (!S_ISDIR(info.st_mode)) return;
    empty_folder(left.get());
    ::unlinkat(folder.get(), name, AT_REMOVEDIR);
  });
}

}  // namespace

Temporary::Temporary(const fs::path& folder, Kind kind) : kind_(kind) {
  remove_abandoned(folder);
  for (int n = 0; n < 1000; ++n) {
    path_ = folder / temporary_name(n);
    const bool is_file = kind == Kind::kFile;
    if (!is_file && ::mkdir(path_.c_str(), 0777) != 0) {
      error_ = errno;
      if (error_ != EEXIST) return;
      continue;
    }
    file_.reset(is_file ? ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)
                        : ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (is_file && file_.get() < 0) {
      error_ = errno;
      if (error_ != EEXIST) return;
      continue;
    }
    if (file_.get() < 0 && errno == ENOENT) continue;  // it was cleared up at once
    // Someone who clears up may have come before the lock. Where nothing can be locked, nobody
    // does.
    struct stat info {};
    const bool taken = ::flock(file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (taken || (::fstat(file_.get(), &info) == 0 && info.st_nlink == 0)) continue;
    made_ = true;
    error_ = 0;
    return;
  }
  if (error_ == 0) error_ = EEXIST;
}

Temporary::~Temporary() {
  if (!made_) return;
  if (kind_ == Kind::kFile) {
    ::unlink(path_.c_str());
    return;
  }
  for (const fs::path& name : names_) ::unlink((path_ / name).c_str());
  ::rmdir(path_.c_str());  // keeps what someone else put there
}

fs::path Temporary::add(const fs::path& name) { return path_ / names_.emplace_back(name); }

}  // namespace headlight
