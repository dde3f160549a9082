// Under the words of the sentence: how strongly the chosen head's row looks at each of them.
#pragma once

#include "app/ui/kit/ui.h"
#include "app/ui/state/state.h"

namespace headlight {

/// Bars under the tokens of the sentence as it stands in its field, whose text begins at `at` and
/// is seen from `x0` to `x1`; a frame around the token that asks. Over a token: its id, its bytes
/// and its weight.
void draw_token_marks(const AppState&, Ui&, ImVec2 at, float x0, float x1, float bars_y);

}  // namespace headlight
