#include "app/gl/context/cache.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <vector>

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDigits = 16;
constexpr std::string_view kHexDigits = "0123456789abcdef";

bool is_ours(const fs::path& path, std::string_view ending) {
  const std::string name = path.filename().string();
  return name.size() == kDigits + ending.size() && name.ends_with(ending) &&
         name.find_first_not_of(kHexDigits) == kDigits;
}

struct CacheFile {
  fs::path path;
  fs::file_time_type used;
  std::uint64_t bytes = 0;
};

std::vector<CacheFile> files_of(const fs::path& folder, std::string_view ending) {
  std::vector<CacheFile> files;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    std::error_code none;
    if (!is_ours(entries->path(), ending) ||
        entries->symlink_status(none).type() != fs::file_type::regular) {
      continue;
    }
    const auto used = entries->last_write_time(none);
    const auto bytes = entries->file_size(none);
    if (!none) files.push_back({entries->path(), used, bytes});
  }
  return files;
}

}  // namespace

fs::path cache_folder(std::string_view name) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache) return fs::path(cache) / "headlight" / name;
  const char* home = std::getenv("HOME");
  return home && *home ? fs::path(home) / ".cache" / "headlight" / name : fs::path();
}

std::string cache_name(std::uint64_t hash, std::string_view ending) {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += kHexDigits[hash >> shift & 15];
  return text + std::string(ending);
}

void mark_used(const fs::path& path) {
  std::error_code none;
  const auto now = fs::file_time_type::clock::now();
  const auto used = fs::last_write_time(path, none);
  if (!none && now - used > std::chrono::hours(24)) fs::last_write_time(path, now, none);
}

void prune_cache(const fs::path& folder, std::string_view ending, const CacheRoom& room) noexcept {
  try {
    std::vector<CacheFile> files = files_of(folder, ending);
    std::sort(files.begin(), files.end(),
              [](const CacheFile& a, const CacheFile& b) { return a.used > b.used; });
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < files.size(); ++i) {
      bytes += files[i].bytes;
      std::error_code none;
      if (i >= room.files || bytes > room.bytes) fs::remove(files[i].path, none);
    }
  } catch (const std::exception&) {  // no memory for the list: another time
  }
}

}  // namespace headlight
