// A model, or a run that goes on, as a folder for PyTorch: a checkpoint as this program writes it,
// which it so reads back, and beside it model.py, train.py, README.md and what they need.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/train/data/batches.h"
#include "core/train/run_checkpoint.h"

namespace headlight {

/// The files of assets/export by their name; empty where there is none.
std::string_view exported_file(std::string_view name);

/// The run of this folder as it was saved, or only the model of this ref, where its training cannot
/// go on. Throws as load_model() and load_checkpoint().
RunCheckpoint exported_run(const std::string& ref);

/// What a run learns from, where it is now.
struct PytorchSource {
  std::shared_ptr<const Task> task;  // null: rows of ids
  BatchSource* batches = nullptr;    // null: there are no data, and train.py asks for some
  std::int64_t steps = 1000;  // whose batches are written, where they are not drawn from text
};

/// Writes the folder. Throws UsageError that names what model.py or train.py do not have
/// (pytorch_lacks.h), and Error.
void write_pytorch_folder(const std::filesystem::path& to, const RunCheckpoint&,
                          const PytorchSource& = {});

}  // namespace headlight
