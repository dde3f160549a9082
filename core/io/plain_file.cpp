#include "core/io/plain_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/error.h"

namespace headlight {

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::status(path, ignored).type() != std::filesystem::file_type::not_found;
}

// Not to block: opening a pipe that nobody writes to would wait for ever.
PlainFile::PlainFile(std::filesystem::path path, std::uint64_t max_bytes)
    : path_(std::move(path)), file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat info {};
  if (file_.get() < 0 || ::fstat(file_.get(), &info) != 0) fail_to_read(path_, errno);
  if (S_ISDIR(info.st_mode)) throw Error(Message{"file.read_is_folder", {{"path", shown(path_)}}});
  if (!S_ISREG(info.st_mode)) throw Error(Message{"file.not_plain", {{"path", shown(path_)}}});
  size_ = static_cast<std::uint64_t>(std::max<off_t>(info.st_size, 0));
  if (size_ > max_bytes) fail_too_large(path_, max_bytes, std::to_string(size_));
}

std::string PlainFile::head(std::size_t bytes) const {
  std::string text(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, size_)), '\0');
  for (std::size_t used = 0; used < text.size();) {
    const ssize_t n =
        ::pread(file_.get(), text.data() + used, std::min(text.size() - used, std::size_t{1} << 30),
                static_cast<off_t>(used));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail_to_read(path_, n < 0 ? errno : EIO);
    used += static_cast<std::size_t>(n);
  }
  return text;
}

std::string PlainFile::all() const { return head(static_cast<std::size_t>(size_)); }

}  // namespace headlight
