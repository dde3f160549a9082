// One head in a grid of heads: its picture, its number, and the badge that it has earned.
#pragma once

#include <string>
#include <vector>

#include "app/ui/kit/ui.h"
#include "app/ui/state/state.h"
#include "core/view/pane_layout.h"

namespace headlight {

/// Design pixels around a picture.
inline constexpr float kHeadPad = 3;

/// Where the parts of a cell stand.
struct HeadCellShape {
  float width = 0, height = 0;
  float picture_width = 0, picture_height = 0;
  bool beside = false;  // the words stand right of the picture, else under it
};

struct HeadCell {
  const HeadsRow* row = nullptr;
  int head = 0;
  bool current = false;  // of the attention that is looked at
  Rect rect;
  HeadCellShape shape;
  bool seen = true;   // not scrolled out of sight
  bool over = false;  // by draw_head_back()
};

/// How large a matrix of rows × columns is drawn in this room: whole pixels a cell where they fit.
ImVec2 whole_cells(float width, float height, std::int64_t rows, std::int64_t columns);

/// Of a head out of sight: the keyboard reaches it all the same.
void focus_head(const AppState&, Ui&, const HeadCell&);
/// Takes the mouse and the keys, and draws what lies behind the picture.
void draw_head_back(const AppState&, Ui&, HeadCell&);
/// The picture, to be drawn with those of the other cells between the back and the front.
HeatmapQuad head_picture(const AppState&, const Ui&, const HeadCell&);
/// The words, the frames, the tooltip.
void draw_head_front(const AppState&, Ui&, const HeadCell&);

/// All three, of many; the pictures together, so that they cost few draws.
void draw_heads(const AppState&, Ui&, std::vector<HeadCell>&);

}  // namespace headlight
