// What the pages of recurrent layers and convolutions open up: the steps one after the other, and
// the window with what it hears of through the layers below.
#pragma once

#include "app/ui/stage/stage_view.h"

namespace headlight {

/// Is the result a recurrent layer's states, or a convolution's sums?
bool shows_mixing(const AppState&, const StepPage&);
DetailNeed mixing_need(const AppState&, const Ui&, const StepPage&);
/// A recurrent layer unrolled: one line for each step in the order of computing, with the chosen
/// number of its state and, where it has gates, these. A convolution: the words, and for each layer
/// from the page's down to the first the rows that lie under the windows.
std::optional<CellPick> draw_mixing(const AppState&, Ui&, const Rect&, const StepPage&, ChosenCell);

}  // namespace headlight
