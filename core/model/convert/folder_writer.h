// A model as other programs save theirs: by the same tables that such folders are read with.
#pragma once

#include <string>
#include <vector>

#include "core/base/half.h"
#include "core/model/convert/type_difference.h"
#include "core/model/folders/folder_type.h"
#include "core/model/model.h"

namespace headlight {

/// config.json of a model as this type says it, and what is read from it again.
struct FolderPlan {
  const FolderType* type = nullptr;
  OrderedJson config;
  ModelFile file;
};

/// `unsaid` is set to the options that the type has no way to say. Where there are any, a model
/// read from such a folder would give other numbers.
FolderPlan plan_folder(const ModelFile&, const FolderType&, std::vector<OptionDifference>& unsaid);

/// model.safetensors of the plan. A bias that the type always has and the model lacks is zeros, and
/// so are such rows of segments. Throws Error for a number that the format cannot hold.
std::string folder_weights(const FolderPlan&, const Model&, NumberFormat);

}  // namespace headlight
