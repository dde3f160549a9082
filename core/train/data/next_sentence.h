// Next-sentence prediction on running text (Devlin et al. 2019).
#pragma once

#include <array>
#include <string_view>

#include "core/train/data/text_source.h"

namespace headlight {

/// The fewest tokens of a row without [CLS]: two sentences and their [SEP]s.
inline constexpr int kShortestPair = 8;

/// Its classes as files name them: the second sentence follows the first, or is from elsewhere.
inline constexpr std::array<std::string_view, 2> kNextSentenceClasses = {"next", "other"};

/// Classification task "next-sentence": rows `first [SEP] second [SEP]`, and whether the second
/// sentence follows the first one in the text. In half of them it does; in the others it is drawn
/// from elsewhere: from another passage where the text has several (with an empty line between
/// them), else any other sentence. Of rows longer than the context the longer sentence is cut.
/// With TextOptions::masked so many percent of a row's tokens are hidden, as hide_tokens() does,
/// and its targets say what stood there (Task::hides_tokens()). Validation has the last sentences,
/// which training never reads; its rows are fixed. Throws as TextSource::load, and Error for a text
/// of too few sentences.
LoadedTask load_next_sentence_task(const TextInput&, const TextOptions&,
                                   const ProgressFunction& progress = {});

}  // namespace headlight
