// Models of other programs that were saved without their head.
#pragma once

#include <algorithm>

#include "core/model/folders/folder_type.h"
#include "core/model/model.h"

namespace headlight {

/// Is it the encoder of another program's folder alone, without the head that says tokens? What its
/// rows give with the rows of the table is then no prediction. Of a model that was trained here the
/// table itself has learned to say tokens.
inline bool lacks_head(const Model& model) {
  const ModelFile& file = model.file;
  const auto is_type = [&](const FolderType& type) { return type.model_type == file.task; };
  return file.config.form == ModelForm::kTokens && file.kind == "masked" &&
         !file.config.head_transform && std::ranges::any_of(folder_types(), is_type);
}

}  // namespace headlight
