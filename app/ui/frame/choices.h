// The choices of the model as a person reads them: stable ids beside labels in their language.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/ui/kit/ui.h"

namespace headlight {

struct Choices {
  std::vector<std::string> labels;
  std::vector<std::string_view> ids;  // the words of sessions and of the command line
};

Choices choices_of(const Ui&, MaskKind);
Choices choices_of(const Ui&, PositionKind);
Choices choices_of(const Ui&, AttentionKind);
Choices choices_of(const Ui&, ScoreKind);
Choices choices_of(const Ui&, BlockKind);
Choices choices_of(const Ui&, NormKind);
Choices choices_of(const Ui&, RotaryPairs);
Choices choices_of(const Ui&, Activation);
Choices on_off_choices(const Ui&);
/// In the order of TokenizerKind.
Choices tokenizer_choices(const Ui&);

}  // namespace headlight
