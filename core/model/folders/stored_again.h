// What a folder's files hold besides the parameters that are read from them: it has to say the
// same, or the numbers would be others than those of who saved it.
#pragma once

#include "core/model/folders/folder_weights.h"
#include "core/model/model_file.h"

namespace headlight {

/// Of an encoder-decoder: are there two tables of tokens, with different numbers?
bool has_two_tables(const FolderWeights&);

/// Throws Error where positions that are computed are stored as well, as others.
void check_stored_positions(const FolderWeights&, const ModelFile&);

}  // namespace headlight
