#include "app/cli/train/checkpoint_folder.h"

#include <string>
#include <system_error>

#include "app/cli/cli.h"
#include "core/base/error.h"
#include "core/io/file_steps.h"
#include "core/model/checkpoint.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

// Without links, dots and a stroke at its end: what lies beside it is named after it.
fs::path plain_path(const std::string& folder) {
  std::error_code error;
  const fs::path path = fs::weakly_canonical(folder, error);
  if (error) return folder;
  return path.has_filename() ? path : path.parent_path();
}

// NAME.before, NAME.before-2, ...
fs::path free_place_beside(const fs::path& folder) {
  std::error_code ignored;
  fs::path place = folder.string() + ".before";
  for (int n = 2; fs::exists(fs::symlink_status(place, ignored)); ++n)
    place = folder.string() + ".before-" + std::to_string(n);
  return place;
}

}  // namespace

CheckpointFolder::CheckpointFolder(const std::string& folder) {
  if (folder.empty()) return;
  folder_ = plain_path(folder);
  lock_path_ = folder_.string() + ".lock";
  // Where there can be no lock, as in a folder that is read only, saving says what is wrong.
  lock_ = std::make_unique<FileLock>(lock_path_.string(), false);
  if (lock_->is_taken()) {
    throw Error("another run saves in " + shown(folder_) +
                " at the moment; give another --out, or wait until it has ended");
  }
}

CheckpointFolder::~CheckpointFolder() {
  std::error_code ignored;
  if (lock_ && lock_->held()) fs::remove(lock_path_, ignored);
}

void CheckpointFolder::make_room(const std::string& resumed) const {
  std::error_code error;
  if (folder_.empty() || !fs::exists(folder_ / kWeightsFile, error)) return;
  if (!resumed.empty() && fs::equivalent(folder_, resumed, error)) return;
  const fs::path place = free_place_beside(folder_);
  fs::rename(folder_, place, error);
  if (error) {
    throw Error("there is a model in " + shown(folder_) + ", and it cannot be put aside (" +
                error.message() + "); give another --out");
  }
  fs::create_directory(folder_, error);  // a link to it may be what was given
  tell("the model that was in " + shown(folder_) + " is now in " + shown(place));
}

}  // namespace headlight
