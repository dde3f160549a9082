// Zooming into the stage's matrices and moving over them: by mouse, by keys and by buttons.
#pragma once

#include "app/ui/matrix/pane_view.h"
#include "app/ui/stage/stage_layout.h"

namespace headlight {

/// The view after what the mouse did to one pane: the wheel zooms about the mouse, a drag moves, a
/// double click shows all. Where the mouse paints only the wheel counts.
StageView view_after(const StagePlacement&, const PlacedPane&, const PaneEvents&, bool paints,
                     StageView);

/// The view after steps asked for by keys or buttons, about the lit cell where it is seen, else
/// about the middle.
StageView view_after(const StagePlacement&, const ViewRequest&, const CellLink& lit, StageView);

/// Asks for `view`, after what keys and buttons asked for, unless it is what is shown.
void change_view(const AppState&, Ui&, const StagePlacement&, const CellLink& lit,
                 const StageView& view);

/// The column beside the matrices: the legend, then buttons and words about the part shown.
void draw_stage_side(Ui&, const Rect& column, const StagePlacement&, const PaneColors&,
                     std::string_view title, bool with_choice = true);

}  // namespace headlight
