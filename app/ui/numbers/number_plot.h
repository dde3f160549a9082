// What a model of numbers has learned, as a picture over the axis: the model's curve and each
// expert's, or the bands of a mixture density, the points of the examples, and which expert the
// gate hears where.
#pragma once

#include "app/ui/kit/ui.h"
#include "app/ui/stage/stage_layout.h"
#include "app/ui/state/state.h"

namespace headlight {

/// Is there a curve of the shown model?
bool has_number_plot(const AppState&);
/// Does this page tell of what the curve shows: the gate, the mixture, what is predicted?
bool shows_number_plot(const AppState&, const StepPage&);

DetailNeed number_plot_need(const Ui&);
void draw_number_plot(const AppState&, Ui&, const Rect&);

}  // namespace headlight
