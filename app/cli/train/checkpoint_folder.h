// The folder of --out: whose it is while a run saves there, and what becomes of an older run in it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "app/shell/autosave.h"

namespace headlight {

/// No other process saves a run in the folder until this goes.
class CheckpointFolder {
 public:
  /// Of an empty name there is none to save in. Throws Error where another process saves there.
  explicit CheckpointFolder(const std::string& folder);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;

  /// Puts a model that lies there aside, in a folder beside it, and stderr says so; the run that
  /// goes on from `resumed` (empty: none) is not. Throws Error where it cannot be moved.
  void make_room(const std::string& resumed) const;

 private:
  std::filesystem::path folder_, lock_path_;
  std::unique_ptr<FileLock> lock_;
};

}  // namespace headlight
