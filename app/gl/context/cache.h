// Files that can be made again: where they lie, what they are called, and how many of them stay.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace headlight {

/// $XDG_CACHE_HOME/headlight/NAME, or ~/.cache/headlight/NAME; empty where neither is set.
std::filesystem::path cache_folder(std::string_view name);

/// "0123456789abcdef.bin" of a hash and the ending ".bin".
std::string cache_name(std::uint64_t hash, std::string_view ending);

/// Says that a file was read, so that prune_cache() leaves it for longer. To the day: a start of
/// the program does not write to the disk for each of its files.
void mark_used(const std::filesystem::path&);

struct CacheRoom {
  std::size_t files = 0;
  std::uint64_t bytes = 0;
};

/// Deletes the files of a folder that were not used for the longest time, until no more than this
/// is left of them. Only plain files whose name cache_name() may have made with this ending count
/// or are touched. Never throws: what cannot be deleted stays.
void prune_cache(const std::filesystem::path& folder, std::string_view ending,
                 const CacheRoom&) noexcept;

}  // namespace headlight
