// The kinds of models that other programs save, each in a file of its own.
#pragma once

#include "core/model/folders/folder_type.h"

namespace headlight {

FolderType gpt2_type();
FolderType llama_type();
FolderType mistral_type();
FolderType qwen2_type();

}  // namespace headlight
