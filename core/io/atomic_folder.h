// Several files that belong together, saved in one step: a save that fails leaves the old folder as
// it was.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace headlight {

struct FolderFile {
  std::string name;
  std::string_view bytes;
};

/// Makes `folder` hold `files`: they are written into a temporary folder beside it and flushed to
/// the disk, and the two folders change places, so that a crash leaves all of the old files or all
/// of the new. Of the old folder, files called as one of `own` (all names in `files`
/// among them) go; what else a person keeps there
/// stays (as hard links). The folder's permissions stay, a symbolic link to it stays a link. Its
/// parent must exist. Throws Error with the path, the reason and what to do, and leaves the old
/// folder as it was and no temporary one: also where the folder holds folders, is the one that the
/// program runs in, or is a file.
void write_folder_atomic(const std::filesystem::path& folder, std::span<const FolderFile> files,
                         std::span<const std::string_view> own);

/// Throws Error where write_folder_atomic() could not write so many bytes there now: as it does, as
/// far as can be told without the files. Nothing is left behind.
void check_folder_atomic(const std::filesystem::path& folder, std::uint64_t bytes,
                         std::span<const std::string_view> own);

/// Puts the folder `made` in the place of `target`, which exists; `made` is then the old one.
/// Returns 0 or the error number; `target` is then as it was. Where the file system cannot exchange
/// two folders in one step (or `may_exchange` is false) the old one is moved aside first, under a
/// name that begins with its own and ".old".
int exchange_folders(const std::filesystem::path& made, const std::filesystem::path& target,
                     bool may_exchange = true);

}  // namespace headlight
