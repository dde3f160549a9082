// What a page opens up beside its matrices, as its operation and its axes say.
#include <algorithm>

#include "app/ui/experts/stage_experts.h"
#include "app/ui/numbers/number_plot.h"
#include "app/ui/stage/distance/stage_distance.h"
#include "app/ui/stage/mixers/stage_mixers.h"
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
  // Going back the cell that is looked at first is an operand's gradient.
  const TensorId first = default_tensor(trace, step, page);
  const CellLink start =
      page_link(trace, page,
                CellPick{trace.program().tensors[place(first)].name,
                         default_cell(trace, step, shown_part(state), link.row)});
  const auto in = [](std::optional<std::int64_t> own, std::optional<std::int64_t> other,
                     std::int64_t count) {
    return std::clamp<std::int64_t>(own.value_or(other.value_or(0)), 0, count - 1);
  };
  ChosenCell cell;
  cell.row = in(link.row, start.row, result.rows);
  cell.column = in(link.column, start.column, result.columns);
  return cell;
}

namespace {

bool weighs_foci(const AppState& state, const StepPage& page) {
  return shows_foci(page) &&
         shows_weights(state.derived.trace->program(), page.lines[0].back().tensor);
}

bool lies_in_plane(const AppState& state, const Step& step, const StepPage& page) {
  return shows_plane(page) && step_detail(*state.derived.trace, step) == Detail::kNothing;
}

bool ranks(const StepPage& page) { return page.lines[0].back().pane.column_axis == "vocab"; }

std::optional<RowDetail> row_detail(const AppState& state, const Step& step, const StepPage& page) {
  const ChosenCell cell = chosen_cell(state, step, page);
  return open_row(*state.derived.trace, step, shown_part(state), cell.row, cell.column);
}

}  // namespace

DetailNeed detail_need(const AppState& state, const Ui& ui, const Step& step,
                       const StepPage& page) {
  if (page.backward) return {};
  if (shows_number_plot(state, page)) return number_plot_need(ui);
  if (ranks(page)) return ranking_need(ui, page.lines[0].back().pane);
  if (shows_load(state.derived.trace->program(), page))
    return load_need(ui, page.lines[0].back().pane);
  if (shows_mixing(state, page)) return mixing_need(state, ui, page);
  if (weighs_foci(state, page)) return foci_need(ui, page.lines[0].back().pane);
  if (lies_in_plane(state, step, page)) return plane_need(ui);
  if (shows_distances(*state.derived.trace, page)) return distance_need(ui);
  switch (step_detail(*state.derived.trace, step)) {
    case Detail::kRow: {
      const auto row = row_detail(state, step, page);
      return row ? row_table_need(ui, *state.derived.trace, *row) : DetailNeed{};
    }
    case Detail::kCurve:
    case Detail::kColumns:
      return curve_need(ui);
    case Detail::kPairs:
      return pairs_need(ui, page.lines[0].back().pane);
    case Detail::kNothing:
      break;
  }
  return {};
}

std::optional<CellPick> draw_detail(const AppState& state, Ui& ui, const Rect& r, const Step& step,
                                    const StepPage& page) {
  ui.drawn.add("panel/detail", r.min(), r.max());
  const PagePane& result = page.lines[0].back();
  const ChosenCell cell = chosen_cell(state, step, page);
  if (shows_number_plot(state, page)) {
    draw_number_plot(state, ui, r);
    return std::nullopt;
  }
  if (ranks(page)) return draw_ranking(state, ui, r, result, cell);
  if (shows_load(state.derived.trace->program(), page))
    return draw_load(state, ui, r, result, cell);
  if (shows_mixing(state, page)) return draw_mixing(state, ui, r, page, cell);
  if (weighs_foci(state, page)) return draw_foci(state, ui, r, result, cell);
  if (lies_in_plane(state, step, page)) return draw_plane(state, ui, r, result, cell);
  if (shows_distances(*state.derived.trace, page))
    return draw_distances(state, ui, r, result, cell);
  const Detail detail = step_detail(*state.derived.trace, step);
  if (detail == Detail::kColumns) {
    draw_column_curves(state, ui, r, step, result, cell);
    return std::nullopt;
  }
  if (detail == Detail::kPairs) return draw_pairs(state, ui, r, step, page, cell);
  const auto row = row_detail(state, step, page);
  if (!row) return std::nullopt;
  if (detail == Detail::kRow) return draw_row_table(state, ui, r, *row);
  draw_activation_curve(state, ui, r, step, *row);
  return std::nullopt;
}

}  // namespace headlight
