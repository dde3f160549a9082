// RunCheckpoint: a training run as it can be saved: a copy that another thread may write while the
// run goes on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/model/checkpoint.h"
#include "core/model/model.h"
#include "core/train/learner.h"
#include "core/train/run_settings.h"
#include "core/train/tasks/task.h"

namespace headlight {

/// config.json of a model that learns this task (null: rows of ids) in rows of this shape.
ModelFile model_file(const Config&, const RunShape&, const Task*);

struct RunCheckpoint {
  std::int64_t step = 0;  // updates made
  ModelFile model;
  std::string tokenizer, training;  // tokenizer.json, train.json
  // By the names of the program; with the optimizer's moments what rows remember
  // (Learner::memory()), and the newest weights where the model's are the best.
  std::vector<StoredArray> weights, optimizer;
  std::string target_tokenizer = {};  // target_tokenizer.json; empty: none

  /// Writes the folder (core/model/checkpoint.h), from which `headlight train --resume` goes on.
  /// Throws Error.
  void save(const std::filesystem::path& folder,
            FloatStorage storage = FloatStorage::kFloat32) const;
  /// Throws Error where save() would now: before hours of training, say. Writes nothing.
  void check_place(const std::filesystem::path& folder) const;
};

/// A model alone, which can be looked at and not be gone on with: `training` is empty.
RunCheckpoint checkpoint_of(const Model&);

/// The run between two updates. With `best` weights the model is that of these, and what the run
/// goes on with stands beside the moments, as "now.NAME".
RunCheckpoint checkpoint_of(ModelFile, std::string tokenizer, const Learner&, const RunSettings&,
                            const TrainState&, std::span<const Tensor> best = {});

/// The learner as it was, with its newest weights, when this state and these arrays of a checkpoint
/// were kept. Throws Error for what does not fit its model.
void restore_run(Learner&, const TrainState&, std::span<const StoredArray> arrays);

// ---- how often a run that is being trained is saved by itself ----

/// What is lost at most where the program is killed, in seconds, as long as saving is quick.
inline constexpr double kSaveEvery = 4;

/// Seconds from one save to the next, where the last one took so long: saving takes a twentieth of
/// the time at most, but no more than a minute is lost.
inline double seconds_to_next_save(double took, double every = kSaveEvery) {
  return std::max(every, std::min(20 * took, 60.0));
}

}  // namespace headlight
