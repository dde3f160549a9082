// A model written as a folder: as other programs expect it, or as this one keeps its own.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/half.h"
#include "core/model/model.h"

namespace headlight {

struct ConvertOptions {
  std::string to;  // the name of a target; empty: of a folder from elsewhere this program's own,
                   // else the first type that can say the model
  NumberFormat format = NumberFormat::kFloat32;
  bool tokenizer = true;  // off: a folder for other programs without tokenizer files
};

/// What was written.
struct ConvertedFolder {
  std::string type;  // "gpt2", "headlight"
  bool has_tokenizer = false;
};

/// One thing that a model can be written as.
struct ConvertTarget {
  std::string_view name;
  std::string_view what;  // for lists
  /// The types of folders.h that it means, of which the first that can say the model is taken.
  std::vector<std::string_view> types{};
  /// Of what is no such type; null: folders are written by the types' tables.
  ConvertedFolder (*write)(const Model&, const std::filesystem::path&,
                           const ConvertOptions&) = nullptr;
};

std::span<const ConvertTarget> convert_targets();

/// The target that has a run with its data in it: who knows of those writes it
/// (core/train/pytorch/pytorch_folder.h), and convert_model() does not.
inline constexpr std::string_view kPytorchTarget = "pytorch";

/// "f32", "f16", "bf16". Throws UsageError with the list for another.
NumberFormat number_format(std::string_view word);
std::string_view number_format_word(NumberFormat);

/// Writes the folder in one step (core/io/atomic_folder.h). It may be there already if it is empty
/// or if this program wrote it. Throws UsageError for another target, and Error that says what the
/// target has no way to say, before anything is written.
ConvertedFolder convert_model(const Model&, const std::filesystem::path& folder,
                              const ConvertOptions&);

}  // namespace headlight
