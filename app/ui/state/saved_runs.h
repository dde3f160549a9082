// What File > Runs and models lists: training runs and models on the disk, and what was removed or
// discarded and can be had back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/message.h"

namespace headlight {

enum class SavedKind {
  kRun,        // a window has put it aside
  kModel,      // kept by hand, or opened: a folder of the person's own
  kRemoved,    // a run that was removed
  kDiscarded,  // a session that was not recovered
};

struct SavedRun {
  SavedKind kind{};
  std::string path;                      // the folder; kDiscarded: the file
  std::string name;                      // its last part; kDiscarded: the sentence, if read
  std::string task;                      // empty: own data, or not known
  std::string model_kind;                // "next-token", "masked", "classify", "translate"
  std::int64_t written = 0;              // seconds since 1970,
  std::string when;                      // in words
  std::int64_t step = -1;                // updates made; -1: not known
  std::optional<double> loss, accuracy;  // on validation examples, where they were measured
  double bytes = 0;
  bool resumable = false;  // it has what training goes on from
  bool in_use = false;     // a window is training it
  Message problem;         // why it cannot be opened; empty: it can
};

/// How the list is looked at.
struct RunsSession {
  std::vector<std::string> kept;  // folders of kModel, newest first; remembered
  std::string renaming;           // the folder whose name is being typed; empty: none
  std::string name_typed;
};

/// The list as it was last read.
struct RunsData {
  std::vector<SavedRun> runs;
  std::string folder;    // where windows put runs; empty: nowhere
  bool reading = false;  // for the first time, or again
};

}  // namespace headlight
