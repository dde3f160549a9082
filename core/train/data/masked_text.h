// Masked language modelling on running text (Devlin et al. 2019).
#pragma once

#include <memory>
#include <vector>

#include "core/train/data/text_source.h"

namespace headlight {

/// Chooses `share` percent of the tokens that are no specials, at least one where there is one, and
/// of these turns 80 % into [MASK], 10 % into any token that is no special, and leaves 10 % as they
/// are; so the model has to hear every token, and not only know of the [MASK]s. What was chosen is
/// to be predicted, and nothing else. The vocabulary has [MASK]. Other tokens are drawn from the
/// first `ids` of it; 0: from all.
TaskExample hide_tokens(std::vector<int> tokens, int share, const Vocabulary&, Random&,
                        int ids = 0);

/// The task "text" of kind kMasked: windows of `context` tokens from anywhere in the part. Its rows
/// lie side by side, with the same tokens hidden whenever they are asked for.
std::unique_ptr<Task> masked_text_task(std::shared_ptr<const TextSource> source, int share);

}  // namespace headlight
