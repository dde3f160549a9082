// What a page opens up beside its matrices, as its operation and its axes say.
#include <algorithm>

#include "app/ui/stage/stage_motion.h"
#include "app/ui/stage/stage_view.h"

namespace headlight {

ChosenCell chosen_cell(const AppState& state, const Step& step, const StepPage& page) {
  const Trace& trace = *state.derived.trace;
  CellLink link = page_link(trace, page, state.session.hovered);
  // While the result is being made the page tells of the cell in the making.
  const std::optional<Motion> made = shown_motion(state);
  if (!link.row && made && made->phase != MotionPhase::kDone) link = {made->row, made->column};
  if (!link.row) link = page_link(trace, page, state.session.picked);
  const Pane& result = page.lines[0].back().pane;
  const std::vector<std::int64_t> fallback =
      default_cell(trace, step, state.session.head, link.row);
  const TensorView t = trace.tensor(page.lines[0].back().tensor);
  ChosenCell cell;
  if (const auto place = pane_place(result, flat_index(t.axes, fallback)))
    cell = {place->first, place->second};
  cell.row = std::clamp<std::int64_t>(link.row.value_or(cell.row), 0, result.rows - 1);
  cell.column = std::clamp<std::int64_t>(link.column.value_or(cell.column), 0, result.columns - 1);
  return cell;
}

namespace {

bool ranks(const StepPage& page) { return page.lines[0].back().pane.column_axis == "vocab"; }

std::optional<OpenedRow> opened_row(const AppState& state, const Step& step, const StepPage& page) {
  const ChosenCell cell = chosen_cell(state, step, page);
  return open_row(*state.derived.trace, step, state.session.head, cell.row, cell.column);
}

}  // namespace

OpenedNeed opened_need(const AppState& state, const Ui& ui, const Step& step,
                       const StepPage& page) {
  if (page.backward) return {};
  if (ranks(page)) return ranking_need(ui, page.lines[0].back().pane);
  switch (step_opening(*state.derived.trace, step)) {
    case Opening::kRow: {
      const auto opened = opened_row(state, step, page);
      return opened ? row_table_need(ui, *state.derived.trace, *opened) : OpenedNeed{};
    }
    case Opening::kCurve:
    case Opening::kColumns:
      return curve_need(ui);
    case Opening::kPairs:
      return pairs_need(ui, page.lines[0].back().pane);
    case Opening::kNothing:
      break;
  }
  return {};
}

std::optional<CellPick> draw_opened(const AppState& state, Ui& ui, const Rect& r, const Step& step,
                                    const StepPage& page) {
  ui.probe.add("panel/opened", r.min(), r.max());
  const PagePane& result = page.lines[0].back();
  const ChosenCell cell = chosen_cell(state, step, page);
  if (ranks(page)) return draw_ranking(state, ui, r, result, cell);
  const Opening opening = step_opening(*state.derived.trace, step);
  if (opening == Opening::kColumns) {
    draw_column_curves(state, ui, r, result, cell);
    return std::nullopt;
  }
  if (opening == Opening::kPairs) return draw_pairs(state, ui, r, step, page, cell);
  const auto opened = opened_row(state, step, page);
  if (!opened) return std::nullopt;
  if (opening == Opening::kRow) return draw_row_table(state, ui, r, *opened);
  draw_activation_curve(state, ui, r, step, *opened);
  return std::nullopt;
}

}  // namespace headlight
