// Training runs and models on the disk: found, renamed, removed for some days, put back.
#pragma once

#include <string>
#include <vector>

#include "app/ui/state/saved_runs.h"
#include "core/model/model_file.h"

namespace headlight {

struct RunPlaces {
  std::string runs;               // a folder; empty: none
  std::string autosave;           // likewise
  std::vector<std::string> kept;  // folders of models elsewhere
};

/// Reads all of it, each model as a whole where it is not large: seconds, in the background. By
/// kind, the newest first. What cannot be opened is listed with the reason; never throws.
std::vector<SavedRun> find_saved_runs(const RunPlaces&);

/// What the config of a model's folder says, of this program's or another's. Throws Error that
/// names what is wrong.
ModelFile model_file_of(const std::string& folder);

/// The new folder. Throws Error for what is no name of a folder, is taken, or cannot be done.
std::string rename_run(const std::string& folder, const std::string& name);
/// Moves a run to where it can be had back from for kDiscardedDays; where it is now. Throws Error.
std::string remove_run(const std::string& folder);
/// The inverse; its folder. Throws Error.
std::string restore_run(const std::string& folder);
/// Removes for good what was removed longer ago.
void forget_removed(const std::string& runs);

}  // namespace headlight
