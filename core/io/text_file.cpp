#include "core/io/text_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "core/error.h"
#include "core/io/file_steps.h"
#include "core/text/number_text.h"
#include "core/text/utf8.h"

namespace headlight {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;
// A text in another encoding has far more broken bytes than these; a broken emoji or two has fewer.
constexpr std::size_t kFewBroken = 16, kBrokenInverse = 100;

[[noreturn]] void fail_size(const std::filesystem::path& path, std::uint64_t size) {
  throw Error(Message{"file.too_large",
                      {{"path", shown(path)},
                       {"limit", std::to_string(kMaxTextBytes)},
                       {"size", std::to_string(size)}}});
}

// The size that the file promises, 0 when it promises none (a pipe).
std::uint64_t promised_size(const std::filesystem::path& path, int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) fail_to_read(path, errno);
  if (S_ISDIR(info.st_mode)) throw Error(Message{"file.read_is_folder", {{"path", shown(path)}}});
  if (!S_ISREG(info.st_mode)) return 0;
  const auto size = static_cast<std::uint64_t>(std::max<off_t>(info.st_size, 0));
  if (size > kMaxTextBytes) fail_size(path, size);
  return size;
}

// Until there is something to read, or its end. Of a file there always is; who writes into a pipe
// may take his time, and then the work can still be stopped.
void wait_for_bytes(int fd, const ProgressFunction& progress) {
  constexpr int kLook = 50;  // ms between two looks at the progress
  pollfd wanted{fd, POLLIN, 0};
  while (::poll(&wanted, 1, kLook) == 0) tell(progress, "progress.reading", 0);
}

std::string read_pieces(const std::filesystem::path& path, const ProgressFunction& progress) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) fail_to_read(path, errno);
  const std::uint64_t promised = promised_size(path, file.get());
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(promised));
  for (;;) {
    tell(progress, "progress.reading",
         promised ? std::min(1.0, static_cast<double>(bytes.size()) / double(promised)) : 0.0);
    const std::size_t used = bytes.size();
    // What is added to a file while it is read is not wanted.
    const std::size_t wanted =
        promised ? std::min<std::size_t>(kPiece, static_cast<std::size_t>(promised) - used)
                 : kPiece;
    if (wanted == 0) return bytes;
    bytes.resize(used + wanted);
    if (!promised) wait_for_bytes(file.get(), progress);
    ssize_t n = -1;
    do n = ::read(file.get(), bytes.data() + used, wanted);
    while (n < 0 && (errno == EINTR || errno == EAGAIN));
    if (n < 0) fail_to_read(path, errno);
    bytes.resize(used + static_cast<std::size_t>(n));
    if (bytes.size() > kMaxTextBytes) fail_size(path, bytes.size());
    if (n > 0) continue;
    if (bytes.size() < promised) {
      throw Error(Message{"text.truncated",
                          {{"path", shown(path)},
                           {"expected", count_text(static_cast<long long>(promised))},
                           {"got", count_text(static_cast<long long>(bytes.size()))}}});
    }
    return bytes;
  }
}

// How many bytes are in no valid code point.
std::size_t broken_bytes(std::string_view text, const ProgressFunction& progress) {
  std::size_t broken = 0;
  std::size_t next_tell = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (at >= next_tell) {
      tell(progress, "progress.checking", static_cast<double>(at) / double(text.size()));
      next_tell = at + 8 * kPiece;
    }
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const CodePoint c = code_point_at(text, at);
    if (!c.valid) broken += c.size;
    at += c.size;
  }
  return broken;
}

bool is_utf16(std::string_view text) {
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
}

}  // namespace

TextFile checked_text(std::string text, const MessageSlot& file, const ProgressFunction& progress) {
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  if (text.empty()) throw Error(Message{"text.empty", {file}});
  if (is_utf16(text)) throw Error(Message{"text.utf16", {file}});
  const std::size_t nul = text.find('\0');
  if (nul != text.npos)
    throw Error(Message{"text.binary", {file, {"at", count_text(static_cast<long long>(nul))}}});
  const std::size_t broken = broken_bytes(text, progress);
  TextFile result;
  if (broken == 0) {
    result.text = std::move(text);
    return result;
  }
  const MessageSlot count{"n", count_text(static_cast<long long>(broken))};
  if (broken > kFewBroken && broken > text.size() / kBrokenInverse) {
    throw Error(Message{"text.not_utf8",
                        {file, count, {"of", count_text(static_cast<long long>(text.size()))}}});
  }
  result.notes.push_back(Message{"text.replaced", {file, count}});
  result.text = clean_utf8(text).text;
  return result;
}

TextFile read_text_file(const std::filesystem::path& path, const ProgressFunction& progress) {
  return checked_text(read_pieces(path, progress), {"file", shown(path)}, progress);
}

}  // namespace headlight
