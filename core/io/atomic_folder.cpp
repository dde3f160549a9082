#include "core/io/atomic_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <vector>

#include "core/base/error.h"
#include "core/io/file_steps.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

// 0 or the error number.
int write_file(const fs::path& path, std::string_view bytes) {
  Descriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (fd.get() < 0) return errno;
  if (const int error = write_all(fd.get(), bytes)) return error;
  if (::fsync(fd.get()) != 0 || fd.close() != 0) return errno;
  return 0;
}

// What stands in the old folder and is not to be replaced.
std::vector<fs::path> others_in(const fs::path& folder, std::span<const std::string_view> own) {
  std::vector<fs::path> others;
  std::error_code error;
  fs::directory_iterator at(folder, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    const fs::path name = at->path().filename();
    std::error_code ignored;
    if (at->symlink_status(ignored).type() == fs::file_type::directory) {
      throw Error(
          Message{"file.save_among_folders", {{"path", shown(folder)}, {"name", name.string()}}});
    }
    if (std::find(own.begin(), own.end(), name.string()) == own.end()) others.push_back(name);
  }
  if (error) fail_to_save(folder, error.value());
  return others;
}

// Where the folder is to be, and what is there.
struct Target {
  fs::path path, parent;
  struct stat old {};
  bool exists = false;
  std::vector<fs::path> others;  // what stays
};

fs::path real_target(const fs::path& folder) {
  fs::path target = folder.lexically_normal();
  if (!target.has_filename()) target = target.parent_path();  // "out/" is "out"
  if (target.empty() || !target.has_filename()) {
    throw Error(Message{"file.save_no_folder", {{"path", shown(folder)}}});
  }
  target = follow_links(target);
  std::error_code ignored;
  if (fs::equivalent(target, fs::current_path(ignored), ignored)) {
    throw Error(Message{"file.save_into_own_folder", {{"path", shown(folder)}}});
  }
  return target;
}

Target target_of(const fs::path& folder, std::span<const std::string_view> own) {
  Target target;
  target.path = real_target(folder);
  target.parent = target.path.has_parent_path() ? target.path.parent_path() : fs::path(".");
  target.exists = ::stat(target.path.c_str(), &target.old) == 0;
  if (!target.exists) return target;
  if (!S_ISDIR(target.old.st_mode))
    throw Error(Message{"file.save_is_file", {{"path", shown(folder)}}});
  // A rename would replace even a folder that is marked as not to be written; ask first.
  if (::access(target.path.c_str(), W_OK) != 0) fail_to_save(folder, errno);
  target.others = others_in(target.path, own);
  return target;
}

}  // namespace

int exchange_folders(const fs::path& made, const fs::path& target, bool may_exchange) {
#ifdef RENAME_EXCHANGE
  if (may_exchange) {
    if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) {
      return 0;
    }
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) return errno;
  }
#endif
  (void)may_exchange;
  const fs::path aside = target.string() + ".old-" + std::to_string(::getpid());
  if (::rename(target.c_str(), aside.c_str()) != 0) return errno;
  if (::rename(made.c_str(), target.c_str()) != 0) {
    const int error = errno;
    (void)::rename(aside.c_str(), target.c_str());
    return error;
  }
  // Only its removal is left; where this fails the old files stay beside the new, under that name.
  (void)::rename(aside.c_str(), made.c_str());
  return 0;
}

void write_folder_atomic(const fs::path& folder, std::span<const FolderFile> files,
                         std::span<const std::string_view> own) {
  const auto [target, parent, old, exists, others] = target_of(folder, own);
  Temporary made(parent, Temporary::Kind::kFolder);
  if (made.error() != 0) fail_to_save(folder, made.error());
  for (const FolderFile& file : files) {
    if (const int error = write_file(made.add(file.name), file.bytes)) fail_to_save(folder, error);
  }
  for (const fs::path& name : others) {
    const fs::path from = target / name, to = made.add(name);
    if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), 0) != 0) fail_to_save(folder, errno);
  }
  if (exists && ::chmod(made.path().c_str(), old.st_mode & 07777) != 0) {
    fail_to_save(folder, errno);
  }
  flush_folder(made.path());
  if (!exists) {
    if (::rename(made.path().c_str(), target.c_str()) != 0) fail_to_save(folder, errno);
    made.release();
  } else {
    if (const int error = exchange_folders(made.path(), target)) fail_to_save(folder, error);
    for (const std::string_view name : own) made.add(name);  // the old folder is what goes now
  }
  flush_folder(parent);
}

void check_folder_atomic(const fs::path& folder, std::uint64_t bytes,
                         std::span<const std::string_view> own) {
  const Target target = target_of(folder, own);
  Temporary made(target.parent, Temporary::Kind::kFolder);
  if (made.error() != 0) fail_to_save(folder, made.error());
  const Descriptor fd(
      ::open(made.add("room").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (fd.get() < 0) fail_to_save(folder, errno);
#ifdef __linux__
  // Not every file system can say so before it is written.
  if (bytes > 0 && ::fallocate(fd.get(), 0, 0, static_cast<off_t>(bytes)) != 0 &&
      errno != EOPNOTSUPP && errno != ENOSYS && errno != EINTR)
    fail_to_save(folder, errno);
#endif
}

}  // namespace headlight
