// Checkpoints: a trained model as one folder, whole or not there.
//
//   config.json            which transformer (core/model/model_file.h)
//   model.safetensors      its weights, float32 or float16, by the names of docs/names.md
//   tokenizer.json         what makes ids of a text; only a text here
//   target_tokenizer.json  the same of what a translator writes, where that is another one
//   optimizer.safetensors  so that a run goes on where it stopped: the optimizer's moments,
//   train.json             and what else the run keeps (step, random state); only a text here
//
// These last two come together or not at all.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/program.h"
#include "core/io/array.h"
#include "core/io/atomic_folder.h"
#include "core/model/model_file.h"

namespace headlight {

inline constexpr const char *kConfigFile = "config.json", *kWeightsFile = "model.safetensors",
                            *kTokenizerFile = "tokenizer.json",
                            *kTargetTokenizerFile = "target_tokenizer.json",
                            *kOptimizerFile = "optimizer.safetensors", *kTrainFile = "train.json";
inline constexpr std::array<std::string_view, 6> kCheckpointFiles = {
    kConfigFile, kWeightsFile, kTokenizerFile, kTargetTokenizerFile, kOptimizerFile, kTrainFile};

/// What to save. The views must live until save_checkpoint() returns.
struct CheckpointParts {
  ModelFile model;
  std::string_view tokenizer;       // tokenizer.json as it stands
  std::vector<NamedArray> weights;  // by the names of the program; all of its parameters
  FloatStorage storage = FloatStorage::kFloat32;  // of the weights
  struct Training {
    std::string_view json;              // train.json as it stands
    std::vector<NamedArray> optimizer;  // Optimizer::state()
  };
  std::optional<Training> training;
  std::vector<FolderFile> beside;     // what others than this program read
  std::string_view target_tokenizer;  // target_tokenizer.json as it stands; empty: none
};

/// Writes the folder, in one step (core/io/atomic_folder.h): on any failure, a full disk included,
/// an old checkpoint stays whole. Other files in the folder stay. Throws Error, also where the
/// files in their place are not this program's or a newer version's (core/model/own_folder.h).
void save_checkpoint(const std::filesystem::path& folder, const CheckpointParts&);

/// Numbers from a file, with their name and shape.
struct StoredArray {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> data;
};
std::vector<NamedArray> array_views(std::span<const StoredArray>);

struct Checkpoint {
  ModelFile model;
  std::string tokenizer, target_tokenizer;
  std::vector<Tensor> weights;  // in the order and with the axes of the expected parameters
  struct Training {
    std::string json;
    std::vector<StoredArray> optimizer;  // for Optimizer::restore(), through array_views()
  };
  std::optional<Training> training;  // unset: not asked for, or not there
};

/// The parameters that a model should have, by name and axes.
using ParameterList = std::vector<TensorSpec> (*)(const ModelFile&);

/// Those of build_program() with `context` positions.
std::vector<TensorSpec> program_parameters(const ModelFile&);

/// Reads and checks all of it; `training` asks for the last two files as well. Throws Error that
/// names the file, and what is wrong: missing, truncated, not the format, a value out of range, a
/// tensor that is missing, that the model does not have, of another number type than F32, or of
/// another shape.
Checkpoint load_checkpoint(const std::filesystem::path& folder, bool training = false,
                           ParameterList = program_parameters);

/// The files of a checkpoint that is in memory already; `name` is said in errors.
struct CheckpointTexts {
  std::string_view config, weights, tokenizer;
  std::string name;
};
/// The same without files, and without what training keeps.
Checkpoint parse_checkpoint(const CheckpointTexts&, ParameterList = program_parameters);

/// tokenizer.json of a model that learned rows of ids, not text.
inline constexpr std::string_view kNoTokenizer = "{}\n";

}  // namespace headlight
