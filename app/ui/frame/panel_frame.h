// What panels have in common: their folded tabs, the buttons of their heads, the gaps between them.
#pragma once

#include "app/ui/frame/layout.h"
#include "app/ui/kit/ui.h"

namespace headlight {

/// A folded panel: a tab that says what it is; pressed, it opens.
/// `training`: the panels of training stand in the places of those of the steps.
void panel_tab(Ui&, PanelId, const Rect&, Mode = Mode::kSteps);
/// The button that gives a panel the whole window, and back; to be drawn inside the panel.
void maximize_button(const AppState&, Ui&, PanelId, const Rect&);
/// Dragging the gaps sizes the panels, a double click gives a panel its usual size back.
void panel_splits(const AppState&, Ui&, const WindowLayout&);

}  // namespace headlight
