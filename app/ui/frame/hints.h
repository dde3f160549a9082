// The hints of the first start: one at a time, each gone once the person has done the thing.
#pragma once

#include "app/ui/kit/ui.h"

namespace headlight {

inline constexpr int kHintCount = 5;

/// Is this the thing that the hint speaks of?
bool does_hint(int hint, const Action&);

/// The bubble beside what session.hint speaks of, after all panels have been drawn.
void panel_hint(const AppState&, Ui&, float width, float height);

}  // namespace headlight
