// What the stage shows while a step's result is being made.
#pragma once

#include "app/ui/stage_layout.h"
#include "app/ui/state.h"
#include "app/ui/ui.h"

namespace headlight {

/// Over the page's panes, as far as the step's clock has come. Draws nothing while the finished
/// step is shown. `area` is the room of the panes.
void draw_motion(const AppState&, Ui&, const Rect& area, const StepPage&, const StagePlacement&);

}  // namespace headlight
