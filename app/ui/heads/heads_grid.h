// The grid of all heads: a row for each attention, a cell for each head.
#pragma once

#include "app/ui/kit/ui.h"
#include "app/ui/state/state.h"

namespace headlight {

/// How the grid stands in its room, in screen pixels.
struct HeadsGridShape {
  float cell_width = 0, row_height = 0;
  float picture_width = 0, picture_height = 0;  // the most that a cell's picture takes
  bool beside = false;                          // words right of the pictures, else under them
  bool scrolls_across = false, scrolls_down = false;
};
/// For pictures of so many rows and columns. All rows are seen at once where their pictures still
/// have whole pixels for each cell and are not tiny; else the grid scrolls.
HeadsGridShape heads_grid_shape(float width, float height, float scale, int rows, int heads,
                                std::int64_t picture_rows, std::int64_t picture_columns);

void draw_heads_grid(const AppState&, Ui&, const Rect&);
/// The heads that are looked at alone, as large as they fit.
void draw_heads_of_row(const AppState&, Ui&, const Rect&);

}  // namespace headlight
