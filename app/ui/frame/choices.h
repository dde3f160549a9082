// The choices of the model as a person reads them: stable ids beside labels in their language.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/ui/kit/ui.h"
#include "app/ui/state/state.h"

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
Choices choices_of(const Ui&, Sinusoid);
Choices choices_of(const Ui&, Pooler);
Choices choices_of(const Ui&, RotaryPairs);
Choices choices_of(const Ui&, RotaryScaling);
Choices choices_of(const Ui&, Activation);
Choices choices_of(const Ui&, MixerKind);
Choices choices_of(const Ui&, PoolKind);
/// Of a random model, which has one row to read.
Choices form_choices(const Ui&);
/// A trained model can do without positions, or with those that are computed.
Choices position_choices(const AppState&, const Ui&);
Choices on_off_choices(const Ui&);
/// As all biases, on, off.
Choices bias_choices(const Ui&);
/// In the order of TokenizerKind.
Choices tokenizer_choices(const Ui&);

}  // namespace headlight
