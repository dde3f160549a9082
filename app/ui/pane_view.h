// One matrix on the screen: its heatmap, labels, numbers, caption, and what lights up in it.
#pragma once

#include "app/ui/stage_layout.h"
#include "app/ui/ui.h"
#include "core/page.h"

namespace headlight {

/// The scale that colours a tensor everywhere: pictures, legends and thumbnails ask only this.
ColorScale scale_of(const Ui&, const Trace&, TensorId);

/// Q, K, V and the pattern have one colour each, everywhere; other tensors the text colour.
Color tensor_color(const Theme&, std::string_view tensor_name);

/// "Q (12 × 16)"
std::string pane_caption(const Trace&, const PagePane&);

struct PaneEvents {
  std::optional<std::pair<std::int64_t, std::int64_t>> hovered;  // row, column
  bool clicked = false;
};

/// A bare heatmap, for thumbnails and the heads' row.
void draw_heatmap(Ui&, const Trace&, const PagePane&, const Rect&, float gap);

/// A whole pane. `lit` is what to light up; `id` is the probe's name of it.
PaneEvents draw_pane(Ui&, const Trace&, const PlacedPane&, const CellLink& lit, std::string_view id,
                     const std::string& caption, const ColorScale* scale = nullptr,
                     const float* data = nullptr, std::uint64_t data_key = 0);

/// The vertical legend of a scale. Returns the height.
float draw_legend(Ui&, ImVec2 at, float height, const ColorScale&, std::string_view title);

/// Tooltip of a cell: token names and the exact value.
void cell_tooltip(Ui&, const Trace&, const PagePane&, std::int64_t r, std::int64_t c, float value);

}  // namespace headlight
