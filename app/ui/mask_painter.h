// Painting the mask with the mouse, on the stage's pane of the mask.
#pragma once

#include "app/ui/pane_view.h"
#include "app/ui/state.h"

namespace headlight {

/// Called for each pane of a page that the mouse is over; acts on the free mask only.
void paint_mask(const AppState&, Ui&, const PlacedPane&, const PaneEvents&);

}  // namespace headlight
