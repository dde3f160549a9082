// FolderWeights: the weights of a model folder where they are, by the names that the folder gives
// them.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/plain_file.h"
#include "core/model/folders/folder_type.h"
#include "core/model/folders/mapped_safetensors.h"

namespace headlight {

/// model.safetensors, or the parts that its index names. Throws Error where there are none, one is
/// missing, or the weights are of a kind that can run code when they are read.
std::vector<std::filesystem::path> weight_files(const std::filesystem::path& folder);

class FolderWeights {
 public:
  /// Opens the files and checks their headers. Throws Error.
  FolderWeights(const std::vector<std::filesystem::path>&, std::vector<std::string_view> prefixes);

  TensorShapes shapes() const;
  /// Bytes of the files.
  double bytes() const;
  /// "F32", or "F16 and F32" where there are several.
  std::string number_types() const;
  /// The bytes of the file's tensor of this name; nothing where there is none.
  std::optional<std::string_view> bytes_of(std::string_view name) const;
  /// Its numbers; nothing where there is none of this shape.
  std::optional<std::vector<float>> numbers_of(std::string_view name,
                                               const std::vector<std::int64_t>& shape) const;
  /// Is each there, with its shape, in numbers that can be read? Throws Error as take() does.
  void check_all(std::span<const TensorSpec>, std::span<const WeightRow>) const;
  /// Names in the files that none of the parameters is read from.
  std::vector<std::string> unused(std::span<const TensorSpec>, std::span<const WeightRow>) const;

  /// The parameters, all checked first, each in its own axes. `not_finite`: names of those of them
  /// that hold NaN or infinity. Throws Error, and as ModelFolder::load() does.
  std::vector<Tensor> take(std::span<const TensorSpec>, std::span<const WeightRow>,
                           std::vector<std::string>& not_finite,
                           const ProgressFunction& progress = {}) const;

 private:
  struct Place {
    std::size_t file = 0;
    const SafetensorsEntry* entry = nullptr;
    std::string_view name;
  };
  struct Taken {
    const MappedSafetensors* file = nullptr;
    const SafetensorsEntry* entry = nullptr;
    StridedSource from;
  };
  const Place* find(std::string_view name) const;
  Taken check(const TensorSpec&, std::span<const WeightRow>) const;

  std::vector<std::unique_ptr<MappedSafetensors>> files_;
  std::map<std::string, Place, std::less<>> places_;
  std::vector<std::string_view> prefixes_;
};

}  // namespace headlight
