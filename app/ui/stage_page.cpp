// A step's page: its matrices, and what lights up in them.
#include <algorithm>

#include "app/ui/mask_painter.h"
#include "app/ui/stage_motion.h"
#include "app/ui/stage_view.h"
#include "core/steps.h"

namespace headlight {

// Rows and columns of the page's result that the hovered or picked cell leads to.
CellLink page_link(const Trace& trace, const StepPage& page, const std::optional<CellPick>& cell) {
  if (!cell) return {};
  const TensorId id = trace.program().find(cell->tensor);
  if (id < 0) return {};
  const TensorView t = trace.tensor(id);
  if (cell->index.size() != t.axes.size()) return {};
  const std::int64_t flat = flat_index(t.axes, cell->index);
  // The result first: the same tensor may also stand as an operand.
  for (const auto& line : page.lines) {
    for (auto p = line.rbegin(); p != line.rend(); ++p) {
      if (trace.program().resolve(p->tensor) != trace.program().resolve(id)) continue;
      if (const auto place = pane_place(p->pane, flat)) {
        return link_from(trace, *p, place->first, place->second);
      }
    }
  }
  return {};
}

StageMeasures stage_measures(const Ui& ui, const Trace& trace) {
  StageMeasures m;
  float widest = ui.px(24);
  for (std::int64_t t = 0; t < std::min<std::int64_t>(trace.length(), 200); ++t) {
    widest =
        std::max(widest, ui.measure(ui.fonts.control, token_label(trace.tick("position", t))).x);
  }
  m.row_label_width = std::min(widest, ui.px(86)) + ui.px(14);
  m.column_label_height = std::min(widest, ui.px(62)) * 0.72f + ui.px(16);
  m.caption_height = ui.px(24);
  m.gap = ui.px(16);
  m.side_caption = ui.px(104);
  m.max_cell = ui.px(30);
  m.square_cell = ui.px(40);
  return m;
}

void draw_stage_page(const AppState& state, Ui& ui, const Rect& area, const StepPage& page) {
  const Trace& trace = *state.derived.trace;
  const float legend_width = ui.px(84);
  const Rect body{area.x0, area.y0, area.x1 - legend_width, area.y1};
  const StagePlacement placement = place_page(page, body, stage_measures(ui, trace), ui.scale);
  const bool hovering = state.session.hovered.has_value();
  CellLink link = page_link(trace, page, state.session.hovered);
  if (!hovering || (!link.row && !link.column)) link = page_link(trace, page, state.session.picked);
  TensorId legend_tensor = page.lines[0].back().tensor;
  std::optional<CellPick> hovered;
  for (std::size_t i = 0; i < placement.panes.size(); ++i) {
    const PlacedPane& p = placement.panes[i];
    const TensorView t = trace.tensor(p.pane->tensor);
    const std::string id = "pane/" + std::to_string(i) + "/" + std::string(t.name);
    const PaneEvents events =
        draw_pane(ui, trace, p, link_to(trace, *p.pane, link), id, pane_caption(trace, *p.pane));
    if (!events.hovered) continue;
    const auto [r, c] = *events.hovered;
    const CellPick cell{std::string(t.name), unravel(t.axes, pane_flat(p.pane->pane, r, c))};
    hovered = cell;
    legend_tensor = p.pane->tensor;
    paint_mask(state, ui, p, events);
    if (events.clicked) ui.push(PickCell{cell});
  }
  if (hovered != state.session.hovered) ui.push(HoverCell{hovered});
  for (const PlacedSign& sign : placement.signs) {
    const ImVec2 size = ui.measure(ui.fonts.title, sign.text);
    ui.text(ui.fonts.title, {sign.x - size.x / 2, sign.y - size.y / 2}, ui.theme.muted, sign.text);
  }
  draw_motion(state, ui, body, page, placement);
  const std::string title = std::string(
      tensor_symbol(trace.program().tensors[static_cast<std::size_t>(legend_tensor)].name));
  const float height = std::min(ui.px(92), area.height() * 0.4f);
  draw_legend(ui,
              {area.x1 - legend_width + ui.px(14), (area.y0 + area.y1 - height) / 2 - ui.px(10)},
              height, scale_of(ui, trace, legend_tensor), title);
}

}  // namespace headlight
