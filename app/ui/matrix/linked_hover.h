// The cell under the mouse, in every picture that shows its tensor.
#pragma once

#include <optional>
#include <utility>

#include "app/ui/kit/ui.h"
#include "app/ui/stage/stage_layout.h"
#include "app/ui/state/state.h"
#include "core/view/pane_layout.h"

namespace headlight {

/// Does a cell of another head count, at the same place of this one?
enum class OtherHeads { kIgnore, kSamePlace };

/// Where the hovered cell stands in this pane: row, column.
std::optional<std::pair<std::int64_t, std::int64_t>> hovered_place(const AppState&, const PagePane&,
                                                                   OtherHeads);
/// Row and column of the page's result that the hovered cell leads to.
CellLink hovered_link(const AppState&, const StepPage&);

/// Frames the hovered cell in a picture of the pane that fills `rect`, if the pane shows it.
void mark_hovered_cell(const AppState&, Ui&, const PagePane&, const Rect&);
/// The same in a matrix of the stage, which may be seen in part.
void mark_hovered_cell(const AppState&, Ui&, const PlacedPane&);
/// Frames a cell of a matrix of the stage, if it is seen.
void mark_cell(Ui&, const PlacedPane&, std::int64_t r, std::int64_t c);
/// Its row and column as well, in pictures of any head.
void mark_hovered_place(const AppState&, Ui&, const PagePane&, const Rect&);

/// Tells the window which cell of a bare picture is under the mouse: to be called when the mouse is
/// over the control that the picture belongs to. Shows its number as well.
void hover_picture(const AppState&, Ui&, const PagePane&, const Rect&);

}  // namespace headlight
