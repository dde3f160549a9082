// Painting the mask with the mouse, on the stage's pane of the mask.
#pragma once

#include "app/ui/matrix/pane_view.h"
#include "app/ui/state/state.h"

namespace headlight {

/// The tools over the page of the mask: brushes, what to start from, clear, invert, and which rows
/// are left without a key. Returns the height used; 0 on every other page.
float draw_mask_tools(const AppState&, Ui&, const Rect& area);

/// Called for each pane of a page, after it was drawn as `pane_id`. On the mask's pane a drag
/// paints: the first cell decides whether it forbids or allows. A mask of another kind is first
/// copied into the free one, so that painting starts from what is seen.
void paint_mask(const AppState&, Ui&, const PlacedPane&, std::string_view pane_id);

/// The handles beside the mask's pane that paint whole rows and columns.
void draw_mask_handles(const AppState&, Ui&, const PlacedPane&);

// ---- pure ----

/// Forbids (or allows) what the brush covers at cell (query, key) of `tokens` × `tokens`: the cell,
/// its row, its column, or the triangle beyond it: every cell at least as far above the diagonal
/// (or below it); on the diagonal the diagonal alone.
void paint(CellSet& forbidden, Brush, int query, int key, int tokens, bool forbid);

/// The other way round for every cell of `tokens` × `tokens`.
MaskSpec inverted(const MaskSpec&, int tokens);

}  // namespace headlight
