// What stands in the place of patterns where attention keeps none.
#pragma once

#include "app/ui/kit/ui.h"
#include "app/ui/state/state.h"

namespace headlight {

/// Has the shown model heads, and keeps nothing of what they look at?
bool lacks_pattern(const AppState&);
/// Says so, with the button that keeps the pattern.
void draw_unkept_pattern(const AppState&, Ui&, const Rect&);

}  // namespace headlight
