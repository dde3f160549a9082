// The arithmetic of the first cell, written out beside it while a step is played.
#pragma once

#include <vector>

#include "app/ui/kit/ui.h"
#include "app/ui/stage/stage_layout.h"
#include "core/view/motion.h"

namespace headlight {

/// The largest free places of `area`: each touches obstacles or the border on all sides. Pure
/// arithmetic, tested without a window.
std::vector<Rect> free_places(const Rect& area, const std::vector<Rect>& obstacles);

/// Draws the terms that have come so far and their sum where they cover neither an operand nor the
/// first cell. Draws nothing where there is no room to read it.
void draw_motion_card(Ui&, const Trace&, const StepPage&, const Rect& area, const StagePlacement&,
                      const Telling&, const Motion&);

}  // namespace headlight
