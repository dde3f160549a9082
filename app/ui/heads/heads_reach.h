// Which words change the chosen cell, layer by layer, in the place of the heads.
#pragma once

#include "app/ui/kit/ui.h"
#include "app/ui/state/state.h"

namespace headlight {

/// Is the reach shown: chosen, or of a model whose layers have no heads?
bool reach_is_shown(const AppState&);
/// The cell whose reach it is: the picked one, or where that has none the last word's, first
/// number, behind the last layer.
CellRef reach_cell(const AppState&);

void draw_reach(const AppState&, Ui&, const Rect&);

}  // namespace headlight
