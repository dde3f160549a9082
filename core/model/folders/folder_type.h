// FolderType: one kind of model that other programs save, by the "model_type" of its config.json.
// Each is one file in core/model/folders/types/: what its config means, and where its weights are.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/program.h"
#include "core/model/folders/folder_config.h"
#include "core/model/folders/weight_layout.h"
#include "core/model/model_file.h"

namespace headlight {

/// A row of a type's table: the parameters with this role (and, where they are given, in this
/// section and stack) are the file's tensor of this name, "{l}" in it being the layer and "{s}"
/// "encoder" or "decoder". Where files differ, several names with "|" between them: the first that
/// is there.
struct WeightRow {
  Role role{};
  std::string_view name;
  WeightLayout layout = WeightLayout::kSame;
  int part = 0, parts = 1;
  std::optional<Section> section{};
  std::optional<Stack> stack{};
};

/// The shape of the file's tensor of this name, with or without one of the type's prefixes; null:
/// there is none.
using TensorShapes = std::function<const std::vector<std::int64_t>*(std::string_view)>;

struct FolderType {
  std::string_view model_type;
  /// Throws Error for what it does not know or cannot be.
  ModelFile (*read)(const FolderConfig&, const TensorShapes&);
  std::vector<WeightRow> (*rows)(const FolderConfig&, const TensorShapes&);
  /// What may follow "For" in the first of "architectures": the heads that are read. A name without
  /// "For" says nothing of another one.
  std::vector<std::string_view> read_heads{};
  /// What may stand before every name: of a whole model's file, of a model without its head …
  std::vector<std::string_view> prefixes{};
  /// The other way: config.json of this model, as far as the type can say it. Whoever writes one
  /// reads it back and compares (core/model/convert). None: such folders are not written.
  OrderedJson (*write)(const ModelFile&) = nullptr;
  /// How the names begin that stand in a whole model's file without the first prefix.
  std::vector<std::string_view> heads{};
};

std::span<const FolderType> folder_types();

/// The type of a config. Throws Error with the list of those that there are.
const FolderType& folder_type(const FolderConfig&);

/// Throws Error where the config names a head that the type does not read.
void check_head(const FolderConfig&, const FolderType&);

/// Where a parameter stands; nothing where the table has no row for it.
std::optional<WeightSource> source_of(std::span<const WeightRow>, const TensorSpec&,
                                      const TensorShapes&);

}  // namespace headlight
