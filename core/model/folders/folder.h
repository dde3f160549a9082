// Model folders as other programs save them: config.json, model.safetensors (or its parts and their
// index) and the files of a tokenizer.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/model/available_memory.h"
#include "core/model/folders/folder_weights.h"
#include "core/model/model.h"

namespace headlight {

/// Is there a config.json in it that is not one of this program's own?
bool is_foreign_folder(const std::filesystem::path&);

/// One that is open: what its config says, and its weights where they are.
class ModelFolder {
 public:
  /// Reads the config and the headers of the weights. Throws Error that names the file and what is
  /// wrong: no weights, weights that can run code (.bin, .pt), an unknown type or value.
  explicit ModelFolder(const std::filesystem::path&);

  const FolderType& type() const { return *type_; }
  const ModelFile& file() const { return file_; }
  std::span<const TensorSpec> parameters() const { return parameters_; }
  const FolderWeights& weights() const { return weights_; }
  std::vector<std::string> unused() const { return weights_.unused(parameters_, rows_); }
  /// What the folder asks of a program that writes and is not followed here, "min_length 5".
  const std::vector<std::string>& unfollowed() const { return unfollowed_; }
  /// Bytes of the parameters as they are computed with.
  double memory() const;

  /// Can load() read it, memory aside? Throws Error as it does. No weights are read.
  void check() const;
  /// The model. Throws Error for a tensor that is missing or of another shape, a file that was
  /// changed meanwhile, a tokenizer that does not go with it, and more than `memory` bytes;
  /// Cancelled where `progress` stops it, which any thread may call, one at a time.
  Model load(double memory = available_memory(), const ProgressFunction& progress = {}) const;

 private:
  void read_rows_rules();

  std::filesystem::path path_;
  FolderConfig config_;
  const FolderType* type_;
  FolderWeights weights_;
  std::vector<WeightRow> rows_;
  ModelFile file_;
  std::vector<TensorSpec> parameters_;
  std::vector<std::string> unfollowed_;
  std::optional<int> begin_, pad_;
};

}  // namespace headlight
