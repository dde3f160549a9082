// The kinds of models that other programs save, each in a file of its own.
#pragma once

#include "core/model/folders/folder_type.h"

namespace headlight {

/// Most products, as PyTorch keeps them.
inline constexpr WeightLayout kProduct = WeightLayout::kLinear;

/// Was the model saved with a head that scores tokens, by its "architectures"?
bool has_language_head(const FolderConfig&);

FolderType gpt2_type();
FolderType gpt_neo_type();
FolderType gpt_neox_type();
FolderType llama_type();
FolderType mistral_type();
FolderType qwen2_type();
FolderType bert_type();
FolderType distilbert_type();
FolderType roberta_type();
FolderType marian_type();
FolderType bart_type();
FolderType m2m_100_type();

}  // namespace headlight
