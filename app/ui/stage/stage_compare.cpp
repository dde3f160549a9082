// Two heads side by side and their signed difference.
#include "app/ui/stage/stage_view.h"
#include "app/ui/stage/stage_zoom.h"

namespace headlight {

void draw_stage_comparison(const AppState& state, Ui& ui, const Rect& area, const Step& step) {
  const Trace& trace = *state.derived.trace;
  const int a = state.session.head, b = state.session.other_head;
  StepPage page;
  page.sign = "−";
  const PagePane first = step_page(trace, step, a).lines[0].back();
  const PagePane second = step_page(trace, step, b).lines[0].back();
  page.lines = {{first, second, first}};
  const float legend_width = ui.px(84);
  const Rect body{area.x0, area.y0, area.x1 - legend_width, area.y1};
  StagePlacement placement = place_page(page, body, stage_measures(ui, trace, page), ui.scale);
  apply_view(placement, page, state.session.view, ui.scale);
  StageView view = state.session.view;
  const std::vector<float>& difference = state.derived.difference;
  const CellRange& range = state.derived.difference_range;
  const std::string name =
      ui.tr("heads.minus", {{"a", std::to_string(a)}, {"b", std::to_string(b)}});
  const PaneColors difference_colors{ui.theme.signed_scale(range.limit), range};
  PagePane own = first;  // the difference is a matrix of its own, row after row
  own.pane.row_stride = own.pane.columns;
  own.pane.column_stride = 1;
  const CellLink link =
      page_link(trace, {page.layout, "", {}, {{first, second}}},
                state.session.hovered ? state.session.hovered : state.session.picked);
  std::optional<CellPick> hovered;
  for (std::size_t i = 0; i < placement.panes.size(); ++i) {
    PlacedPane p = placement.panes[i];
    const bool is_difference = i == 2;
    if (is_difference) p.pane = &own;
    const std::string caption =
        is_difference ? name : ui.tr("heads.head", {{"n", std::to_string(i == 0 ? a : b)}});
    const bool ready =
        difference.size() == static_cast<std::size_t>(own.pane.rows * own.pane.columns);
    if (is_difference && !ready) continue;
    const PaneEvents events =
        draw_pane(ui, trace, p, link_to(trace, *p.pane, link), "compare/" + std::to_string(i),
                  caption, is_difference ? &difference_colors : nullptr,
                  is_difference ? difference.data() : nullptr, state.derived.difference_key);
    view = view_after(placement, p, events, false, view);
    if (!events.hovered) continue;
    const PagePane& source = i == 1 ? second : first;
    const TensorView t = trace.tensor(source.tensor);
    const auto [r, c] = *events.hovered;
    hovered = CellPick{std::string(t.name), unravel(t.axes, pane_flat(source.pane, r, c))};
    if (events.clicked) ui.push(PickCell{*hovered});
  }
  if (hovered) ui.hovered_cell = hovered;
  for (std::size_t i = 0; i < placement.signs.size(); ++i) {
    const std::string_view sign = i == 0 ? "−" : "=";
    const ImVec2 size = ui.measure(ui.fonts.title, sign);
    ui.text(ui.fonts.title, {placement.signs[i].x - size.x / 2, placement.signs[i].y - size.y / 2},
            ui.theme.muted, sign);
  }
  const Rect column{area.x1 - legend_width + ui.px(14), area.y0, area.x1, area.y1};
  draw_stage_side(ui, column, placement, difference_colors, name, false);
  StepPage heads = page;
  heads.lines = {{first, second}};
  const CellLink picked = page_link(trace, heads, state.session.picked);
  change_view(state, ui, placement, picked, view);
}

}  // namespace headlight
