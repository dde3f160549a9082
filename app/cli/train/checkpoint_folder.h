// The folder of --out: whose it is while a run saves there, and what becomes of an older run in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/io/file_steps.h"

namespace headlight {

/// No other process saves a run in the folder until this goes, however its process ends.
class CheckpointFolder {
 public:
  /// Of an empty name there is none to save in. Throws Error where another process saves there.
  explicit CheckpointFolder(const std::string& folder);

  /// Before the first save: keeps a run that lies there and is longer than `steps` in a folder
  /// beside it, without its bytes being copied where the disk can do that, and stderr says so. Not
  /// the one that goes on, `resumed` (empty: none). Throws Error where it cannot be kept.
  void keep_longer(std::int64_t steps, const std::string& resumed) const;

 private:
  std::filesystem::path folder_;
  Descriptor lock_{-1};
};

}  // namespace headlight
