// Where the matrices of a step stand: pure arithmetic, tested without a window.
#pragma once

#include <vector>

#include "app/ui/ui.h"
#include "core/page.h"

namespace headlight {

struct PlacedPane {
  const PagePane* pane = nullptr;
  Rect rect;  // the cells
  float cell_w = 0, cell_h = 0;
  bool row_labels = false, column_labels = false;
};

struct PlacedSign {
  float x = 0, y = 0;  // centre
  std::string_view text;
};

struct StagePlacement {
  std::vector<PlacedPane> panes;
  std::vector<PlacedSign> signs;
};

struct StageMeasures {
  float row_label_width = 60;      // room for token labels left of a matrix
  float column_label_height = 50;  // room for slanted labels above
  float side_caption = 90;         // room for "W_Q (64 × 16)" right of the upper operand
  float caption_height = 20, gap = 14, max_cell = 30, square_cell = 34;
};

/// `unit` is the size of one design pixel.
StagePlacement place_page(const StepPage&, const Rect& area, const StageMeasures&, float unit);

}  // namespace headlight
