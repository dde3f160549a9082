// One matrix on the screen: its heatmap, labels, numbers, caption, and what lights up in it.
#pragma once

#include "app/ui/kit/ui.h"
#include "app/ui/stage/stage_layout.h"
#include "core/view/pane_layout.h"

namespace headlight {

/// How a matrix is coloured, and what it was measured of. `scale.limit` is `range.limit`.
struct PaneColors {
  ColorScale scale;
  CellRange range;
  const char* span = "";  // id of the words that say whose range it is, of one head's picture
};

/// The colours of a matrix everywhere: pictures, legends and thumbnails ask only this. The range is
/// own_range() or shared_range(), as the person chose.
PaneColors colors_of(const Theme&, RangeMode, const Trace&, const PagePane&);
inline PaneColors colors_of(const Ui& ui, const Trace& trace, const PagePane& pane) {
  return colors_of(ui.theme, ui.range, trace, pane);
}

/// Q, K, V and the pattern have one colour each, everywhere; all else (−1: no tensor) has that of
/// text.
Color tensor_color(const Theme&, const Program&, TensorId);

/// "Q", "Kᵀ"; draw_pane writes the sizes after it: "Q (T 11 × d_head 16)".
std::string pane_caption(const Trace&, const PagePane&);

/// How much of the caption its room leaves out: 0 nothing, then whose the range is, the words for
/// the sizes, the sizes, the range.
int caption_brevity(const Ui&, const Trace&, const PlacedPane&, const std::string& caption);

/// What a picture's colours span: "±3.96", of weights "0 … 0.41".
std::string range_text(const Ui&, const PaneColors&);
/// Of one head's picture whose range it is, behind the range: ", all heads".
std::string span_text(const Ui&, const PaneColors&);

struct PaneEvents {
  std::optional<std::pair<std::int64_t, std::int64_t>> hovered;  // row, column
  bool clicked = false;
  bool double_clicked = false;
  float wheel = 0;       // turns of the wheel over the pane, up is positive
  ImVec2 dragged{0, 0};  // by how many pixels the mouse, held down, moved the pane
};

/// A bare heatmap, for thumbnails, and what it is drawn from, for those that are drawn together.
HeatmapQuad heatmap_quad(const Ui&, const Trace&, const PagePane&, const Rect&, float gap);
void draw_heatmap(Ui&, const Trace&, const PagePane&, const Rect&, float gap);

/// A whole pane. `lit` is what to light up; `id` is the probe's name of it.
PaneEvents draw_pane(Ui&, const Trace&, const PlacedPane&, const CellLink& lit, std::string_view id,
                     const std::string& caption, const PaneColors* colors = nullptr,
                     const float* data = nullptr, std::uint64_t data_key = 0);

/// The names of its rows and columns; those of the lit ones stand out.
void draw_pane_labels(Ui&, const Trace&, const PlacedPane&, const CellLink& lit);

/// The numbers in its cells, where these are large enough. `range` is what the matrix spans, so
/// that all its numbers have the same decimals. Targets are written as the names they stand for.
void draw_pane_numbers(Ui&, const Trace&, const PlacedPane&, const CellLink& lit, const ColorScale&,
                       const CellRange& range, const float* data);
/// Text turned by 45°, up to the right, about its lower left corner.
void slanted_text(Ui&, ImFont*, ImVec2 at, Color, std::string_view);
/// Every how many-th row or column is named, so that names of this height can be read.
std::int64_t label_step(float cell, float need);

/// Tooltip of a cell: token names and the exact value.
void cell_tooltip(Ui&, const Trace&, const PagePane&, std::int64_t r, std::int64_t c, float value);

}  // namespace headlight
