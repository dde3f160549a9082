// What stands around each text that a model reads, and that nobody wrote.
#pragma once

#include <vector>

#include "core/text/vocabulary.h"

namespace headlight {

/// Ids before those of a text and behind them: [CLS] and [SEP], <s>.
struct RowFrame {
  std::vector<int> before, behind;
  int size() const { return static_cast<int>(before.size() + behind.size()); }
};

/// What a tokenizer from elsewhere puts around a text; nothing of any other vocabulary.
RowFrame frame_of(const Vocabulary&);

/// Puts them around the ids of a text.
void put_around(const RowFrame&, std::vector<int>& ids);

}  // namespace headlight
