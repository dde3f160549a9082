// The kinds of models that other programs save, each in a file of its own.
#pragma once

#include "core/model/folders/folder_type.h"

namespace headlight {

/// Most products, as PyTorch keeps them.
inline constexpr WeightLayout kProduct = WeightLayout::kLinear;

/// What follows "For" in the first of "architectures": "MaskedLM"; empty: no head is named.
std::string named_head(const FolderConfig&);
/// Are the logits made by the table of tokens? "tie_word_embeddings" says so; where it does not, a
/// model that was saved without its head, and so without what would make them, has nothing else.
/// `stored`: the file has weights for them. `usual`: where it says nothing.
bool ties_head(const FolderConfig&, bool stored, bool usual = true);

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
