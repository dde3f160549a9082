// What the stage shows while a step's result is being made.
#pragma once

#include <optional>

#include "app/ui/kit/ui.h"
#include "app/ui/stage/stage_layout.h"
#include "app/ui/state/state.h"
#include "core/view/motion.h"

namespace headlight {

/// Of the shown step; nothing when there is none.
std::optional<MotionSize> shown_motion_size(const AppState&);
/// How far the shown step has been made; nothing while it is shown finished.
std::optional<Motion> shown_motion(const AppState&);

/// What lights up for the cell in the making, instead of the picked cell's row and column.
std::optional<CellLink> motion_link(const AppState&);

/// Over the page's panes, as far as the step's clock has come. Draws nothing while the finished
/// step is shown. `area` is the room of the panes.
void draw_motion(const AppState&, Ui&, const Rect& area, const StepPage&, const StagePlacement&);

}  // namespace headlight
