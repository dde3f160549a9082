// The temperature of attention's softmax, in the row of switches.
#pragma once

#include "app/ui/kit/ui.h"
#include "app/ui/state/state.h"

namespace headlight {

/// What the slider with its label takes.
float temperature_width(const Ui&);
/// Draws it from `at` on, as large as fits before `right`; in a narrow row only the number, which
/// opens the same field. Dragging is one step of undo; a double click gives 1, Ctrl+click or Enter
/// a field to type in.
void draw_temperature(const AppState&, Ui&, ImVec2 at, float height, float right);

/// Where on the slider (0..1) a temperature stands, and the temperature at a place: equal steps
/// multiply it, 1 catches the knob, and what comes back has two significant digits.
float temperature_place(double temperature);
double temperature_at(float place);

}  // namespace headlight
