// What the stage is put together from, one part a file. panel_stage chooses which are drawn.
#pragma once

#include "app/ui/pane_view.h"
#include "app/ui/stage_layout.h"
#include "app/ui/state.h"
#include "app/ui/ui.h"
#include "core/page.h"

namespace headlight {

/// Title, formula, words and shapes. Returns the y under them.
float draw_stage_header(const AppState&, Ui&, const Rect&, const Step&, const StepPage&);

/// Tokens as chips, with their ids; a click marks padding while that mask is chosen.
void draw_tokens(const AppState&, Ui&, const Rect&);

/// The matrices of a page, with their legend.
void draw_stage_page(const AppState&, Ui&, const Rect&, const StepPage&);

/// Two heads side by side and their signed difference.
void draw_stage_comparison(const AppState&, Ui&, const Rect&, const Step&);

/// Room for labels and captions in this trace.
StageMeasures stage_measures(const Ui&, const Trace&);

/// Rows and columns of the page's result that a hovered or picked cell leads to.
CellLink page_link(const Trace&, const StepPage&, const std::optional<CellPick>&);

}  // namespace headlight
