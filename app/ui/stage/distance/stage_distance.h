// What each distance adds to a query's scores, as a curve for each head.
#pragma once

#include "app/ui/stage/stage_view.h"

namespace headlight {

/// Is this the page where scores get to know how far their key is?
bool shows_distances(const Trace&, const StepPage&);
DetailNeed distance_need(const Ui&);
/// One line for each head, the shown head's strong, and the chosen cell on it. Returns the cell of
/// the distance under the mouse; a click chooses it.
std::optional<CellPick> draw_distances(const AppState&, Ui&, const Rect&, const PagePane&,
                                       ChosenCell);

}  // namespace headlight
