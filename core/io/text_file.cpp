#include "core/io/text_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/io/file_steps.h"

namespace headlight {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;
// A text in another encoding has far more broken bytes than these; a broken emoji or two has fewer.
constexpr std::size_t kFewBroken = 16, kBrokenInverse = 100;

[[noreturn]] void fail_size(const std::filesystem::path& path, std::uint64_t size) {
  fail_too_large(path, kMaxTextBytes, std::to_string(size));
}

// The size that the file promises, 0 when it promises none (a pipe).
std::uint64_t promised_size(const std::filesystem::path& path, int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) fail_to_read(path, errno);
  if (S_ISDIR(info.st_mode)) throw Error(Message{"file.read_is_folder", {{"path", shown(path)}}});
  // Such as /dev/zero. A terminal is a device, too, but it ends.
  const bool device = S_ISBLK(info.st_mode) || (S_ISCHR(info.st_mode) && ::isatty(fd) == 0);
  if (device) throw Error(Message{"file.is_device", {{"path", shown(path)}}});
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

[[noreturn]] void fail_shorter(const std::filesystem::path& path, std::uint64_t expected,
                               std::uint64_t got) {
  throw Error(Message{"text.truncated",
                      {{"path", shown(path)},
                       {"expected", count_text(static_cast<long long>(expected))},
                       {"got", count_text(static_cast<long long>(got))}}});
}

std::string read_pieces(const std::filesystem::path& path, int fd, std::uint64_t promised,
                        const ProgressFunction& progress) {
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
    if (!promised) wait_for_bytes(fd, progress);
    ssize_t n = -1;
    do n = ::read(fd, bytes.data() + used, wanted);
    while (n < 0 && (errno == EINTR || errno == EAGAIN));
    if (n < 0) fail_to_read(path, errno);
    bytes.resize(used + static_cast<std::size_t>(n));
    if (bytes.size() > kMaxTextBytes) fail_size(path, bytes.size());
    if (n > 0) continue;
    if (bytes.size() < promised) fail_shorter(path, promised, bytes.size());
    return bytes;
  }
}

bool is_utf16(std::string_view text) {
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
}

std::size_t mark_size(std::string_view text) { return text.starts_with("\xEF\xBB\xBF") ? 3 : 0; }

// Called before each piece of a text, with how much of it has been read.
using Look = std::function<void(std::size_t)>;

// How many bytes of the text (without a byte order mark) are in no valid code point: none or few.
std::size_t check(std::string_view text, const MessageSlot& file, const Look& look) {
  if (text.empty()) throw Error(Message{"text.empty", {file}});
  if (is_utf16(text)) throw Error(Message{"text.utf16", {file}});
  std::size_t broken = 0, next = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (at >= next) {
      look(at);
      const std::size_t nul = text.substr(next, kPiece).find('\0');
      if (nul != text.npos) {
        const auto place = static_cast<long long>(next + nul);
        throw Error(Message{"text.binary", {file, {"at", count_text(place)}}});
      }
      next += kPiece;
    }
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const CodePoint c = code_point_at(text, at);
    if (!c.valid) broken += c.size;
    at += c.size;
  }
  if (broken > kFewBroken && broken > text.size() / kBrokenInverse) {
    const MessageSlot count{"n", count_text(static_cast<long long>(broken))};
    throw Error(Message{"text.not_utf8",
                        {file, count, {"of", count_text(static_cast<long long>(text.size()))}}});
  }
  return broken;
}

// Where a piece from `at` on ends: within no code point.
std::size_t piece_end(std::string_view text, std::size_t at) {
  const std::size_t end = at + kPiece;
  if (end >= text.size()) return text.size();
  constexpr std::size_t kLongest = 4;  // bytes of a code point
  for (std::size_t back = 0; back < kLongest; ++back) {
    if ((static_cast<unsigned char>(text[end - back]) & 0xC0) != 0x80) return end - back;
  }
  return end;  // too many bytes that go on: none of a code point that began before
}

// The text with U+FFFD for what is not UTF-8, piece by piece: a copy, but of the text alone.
TextFile repaired(std::string_view text, std::size_t broken, const MessageSlot& file,
                  const Look& look) {
  std::string clean;
  clean.reserve(text.size() + 2 * broken);
  for (std::size_t at = 0; at < text.size();) {
    look(at);
    const std::size_t end = piece_end(text, at);
    clean += clean_utf8(text.substr(at, end - at)).text;
    at = end;
  }
  TextFile result(std::move(clean));
  result.notes.push_back(
      Message{"text.replaced", {file, {"n", count_text(static_cast<long long>(broken))}}});
  return result;
}

TextFile check_mapped(const std::filesystem::path& path, std::unique_ptr<MappedFile> mapped,
                      const ProgressFunction& progress) {
  const std::size_t begin = mark_size(mapped->bytes());
  TextFile file(path, std::move(mapped), begin);
  const std::string_view text = file.text();
  const MessageSlot name{"file", shown(path)};
  const Look look = [&](std::size_t at) {
    file.passed(at);
    tell(progress, "progress.reading", static_cast<double>(at) / static_cast<double>(text.size()));
  };
  const auto broken = file.read([&](std::string_view all) { return check(all, name, look); });
  if (broken == 0) return file;
  return file.read([&](std::string_view all) { return repaired(all, broken, name, look); });
}

}  // namespace

std::string_view TextFile::text() const {
  return mapped_ ? mapped_->bytes().substr(begin_) : std::string_view(own_);
}

void TextFile::passed(std::size_t bytes) const {
  if (mapped_) mapped_->passed(begin_ + bytes);
}

void TextFile::check_whole() const {
  if (!mapped_) return;
  switch (mapped_->state()) {
    case MappedFile::State::kWhole:
      return;
    case MappedFile::State::kShorter:
      fail_shorter(path_, mapped_->bytes().size(), mapped_->left());
    case MappedFile::State::kWritten:
      throw Error(Message{"text.written", {{"path", shown(path_)}}});
    case MappedFile::State::kUnreadable:
      fail_to_read(path_, EIO);
  }
}

TextFile checked_text(std::string text, const MessageSlot& file, const ProgressFunction& progress) {
  text.erase(0, mark_size(text));
  const Look look = [&](std::size_t at) {
    tell(progress, "progress.checking", static_cast<double>(at) / static_cast<double>(text.size()));
  };
  const std::size_t broken = check(text, file, look);
  return broken == 0 ? TextFile(std::move(text)) : repaired(text, broken, file, look);
}

TextFile read_text_file(const std::filesystem::path& path, const ProgressFunction& progress) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) fail_to_read(path, errno);
  const std::uint64_t promised = promised_size(path, file.get());
  auto mapped = MappedFile::map(file.get(), static_cast<std::size_t>(promised));
  if (mapped) return check_mapped(path, std::move(mapped), progress);
  return checked_text(read_pieces(path, file.get(), promised, progress), {"file", shown(path)},
                      progress);
}

}  // namespace headlight
