// Painting the free mask on the stage.
#include <algorithm>

#include "app/ui/mask_painter.h"
#include "app/ui/pane_view.h"

namespace headlight {
namespace {

void toggle_free_cell(const AppState& state, Ui& ui, std::int64_t r, std::int64_t c) {
  MaskSpec mask = state.document().config.mask;
  const std::pair cell{static_cast<int>(r), static_cast<int>(c)};
  const auto at = std::find(mask.forbidden.begin(), mask.forbidden.end(), cell);
  if (at == mask.forbidden.end()) {
    mask.forbidden.push_back(cell);
  } else {
    mask.forbidden.erase(at);
  }
  ui.push(DoEdit{SetMask{mask}, ""});
}

}  // namespace

void paint_mask(const AppState& state, Ui& ui, const PlacedPane& p, const PaneEvents& events) {
  const Trace& trace = *state.derived.trace;
  const bool paints = p.pane->tensor == trace.program().mask &&
                      state.document().config.mask.kind == MaskKind::kFree;
  if (!paints || !events.clicked || !events.hovered) return;
  toggle_free_cell(state, ui, events.hovered->first, events.hovered->second);
}

}  // namespace headlight
