#include "app/shell/autosave.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/base/error.h"
#include "core/document/session_file.h"
#include "core/io/file_steps.h"
#include "core/io/plain_file.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kEnding = ".headlight.json";
constexpr const char* kDiscarded = "discarded";  // a folder
constexpr std::uint64_t kMaxBytes = 256u << 20;

std::string lock_path_of(const std::string& autosave) {
  return autosave.substr(0, autosave.size() - kEnding.size()) + ".lock";
}

// The lock of a window that was killed with nothing unsaved.
void remove_if_alone(const std::string& lock_path) {
  const fs::path autosave = lock_path.substr(0, lock_path.size() - 5) + std::string(kEnding);
  std::error_code ignored;
  if (fs::exists(autosave, ignored)) return;
  const FileLock lock(lock_path, false);
  if (lock.held() && !fs::exists(autosave, ignored)) fs::remove(lock_path, ignored);
}

AutosaveOrigin read_origin(const std::string& text) {
  AutosaveOrigin origin;
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("autosave")) return origin;
  const Json& key = json["autosave"];
  if (!key.is_object()) return origin;
  if (key.contains("of") && key["of"].is_string()) origin.path = key["of"].get<std::string>();
  if (key.contains("mark") && key["mark"].is_number_unsigned())
    origin.mark = key["mark"].get<std::uint64_t>();
  return origin;
}

Recoverable read_work(const std::string& path, std::shared_ptr<FileLock> lock) {
  const std::string text = PlainFile(path, kMaxBytes).all();
  return {path, parse_session(text).document, read_origin(text), written_at(path), std::move(lock)};
}

void sort_newest_first(std::vector<Recoverable>& work) {
  std::sort(work.begin(), work.end(),
            [](const Recoverable& a, const Recoverable& b) { return a.saved_at > b.saved_at; });
}

}  // namespace

FileLock::FileLock(const std::string& path, bool fresh) {
  const int flags = O_RDWR | O_CREAT | O_CLOEXEC | (fresh ? O_EXCL : 0);
  fd_ = ::open(path.c_str(), flags, 0600);
  if (fd_ < 0) return;
  struct stat info {};
  // Between our open and our lock another window may have tidied the file away.
  const bool ours =
      ::flock(fd_, LOCK_EX | LOCK_NB) == 0 && ::fstat(fd_, &info) == 0 && info.st_nlink > 0;
  if (ours) return;
  ::close(fd_);
  fd_ = -1;
}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

std::string autosave_text(const Document& document, const AutosaveOrigin& origin) {
  Json json = Json::parse(session_text(document));
  json["autosave"] = {{"of", origin.path}, {"mark", origin.mark}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

AutosavePlace::AutosavePlace(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  // What a person types is nobody else's business.
  if (!error) fs::permissions(folder, fs::perms::owner_all, error);
  if (error) fail_to_save(folder, error.value());
  for (int n = 0; n < 100; ++n) {
    path_ = (fs::path(folder) / (std::to_string(::getpid()) + "-" + std::to_string(n))).string() +
            std::string(kEnding);
    lock_path_ = lock_path_of(path_);
    if (fs::exists(path_, error)) continue;  // of an older process with the same number
    lock_ = std::make_unique<FileLock>(lock_path_, true);
    if (lock_->held()) return;
  }
  fail_to_save(path_, errno);
}

bool AutosavePlace::is_there() const {
  std::error_code ignored;
  return fs::exists(lock_path_, ignored);
}

void AutosavePlace::remove() {
  std::error_code ignored;
  fs::remove(path_, ignored);
  fs::remove(lock_path_, ignored);
}

FoundWork find_recoverable(const std::string& folder) {
  FoundWork found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string path = at->path().string();
    if (path.ends_with(".lock")) remove_if_alone(path);
    if (!path.ends_with(kEnding)) continue;
    auto lock = std::make_shared<FileLock>(lock_path_of(path), false);
    if (!lock->held()) continue;  // its window still runs
    try {
      found.recoverable.push_back(read_work(path, lock));
    } catch (const Error& problem) {
      std::error_code ignored;
      fs::remove(lock_path_of(path), ignored);
      found.unread.push_back({path, problem.message()});
    }
  }
  sort_newest_first(found.recoverable);
  return found;
}

std::int64_t written_at(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::int64_t>(info.st_mtime) : 0;
}

void remove_recoverable(const Recoverable& recoverable) {
  std::error_code ignored;
  fs::remove(recoverable.path, ignored);
  fs::remove(lock_path_of(recoverable.path), ignored);
}

// Under the time, so that two windows with one number do not meet.
std::string discard_autosave(const std::string& autosave) {
  const fs::path path(autosave), folder = path.parent_path() / kDiscarded;
  std::error_code error;
  fs::create_directories(folder, error);
  const std::string name = std::to_string(written_at(autosave)) + "-" + path.filename().string();
  fs::rename(path, folder / name, error);
  if (error) return "";  // then it stays on offer
  fs::last_write_time(folder / name, fs::file_time_type::clock::now(), error);
  fs::remove(lock_path_of(autosave), error);
  return (folder / name).string();
}

FoundWork find_discarded(const std::string& folder) {
  FoundWork found;
  std::error_code error;
  const fs::path discarded = fs::path(folder) / kDiscarded;
  for (fs::directory_iterator at(discarded, error), end; !error && at != end; at.increment(error)) {
    const std::string path = at->path().string();
    if (!path.ends_with(kEnding)) continue;
    try {
      found.recoverable.push_back(read_work(path, {}));
    } catch (const Error& problem) {
      found.unread.push_back({path, problem.message()});
    }
  }
  sort_newest_first(found.recoverable);
  return found;
}

void forget_discarded(const std::string& folder) {
  remove_outdated((fs::path(folder) / kDiscarded).string());
}

void remove_outdated(const std::string& folder) {
  const auto now = fs::file_time_type::clock::now();
  std::vector<fs::path> old;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code problem;
    const auto written = fs::last_write_time(at->path(), problem);
    if (!problem && now - written > std::chrono::hours(24 * kDiscardedDays))
      old.push_back(at->path());
  }
  for (const fs::path& path : old) fs::remove_all(path, error);
}

std::uint64_t content_mark_of(std::string_view bytes) {
  std::uint64_t mark = 1469598103934665603u;
  for (const char c : bytes) mark = (mark ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return mark == 0 ? 1 : mark;
}

std::uint64_t content_mark(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return 0;
  try {
    return content_mark_of(PlainFile(path, kMaxBytes).all());
  } catch (const Error&) {
    return 0;
  }
}

std::string time_words(std::int64_t then, std::int64_t now) {
  const auto a = static_cast<std::time_t>(then), b = static_cast<std::time_t>(now);
  std::tm then_local{}, now_local{};
  localtime_r(&a, &then_local);
  localtime_r(&b, &now_local);
  const bool today =
      then_local.tm_year == now_local.tm_year && then_local.tm_yday == now_local.tm_yday;
  char text[64];
  std::strftime(text, sizeof text, today ? "%H:%M" : "%Y-%m-%d %H:%M", &then_local);
  return text;
}

}  // namespace headlight
