// The legend of a picture's colours, made from the very range that coloured it.
#pragma once

#include "app/ui/matrix/pane_view.h"

namespace headlight {

/// Title, bar, numbers at its ends ("≥" where numbers beyond have the colour of the end), samples
/// of −∞ and NaN where the range has them, and the choice of the range. Returns the height.
float draw_legend(Ui&, const Rect& column, float y, float bar_height, const PaneColors&,
                  std::string_view title, bool with_choice);

/// The height that draw_legend() takes.
float legend_height(const Ui&, float bar_height, const PaneColors&, bool with_choice);

}  // namespace headlight
