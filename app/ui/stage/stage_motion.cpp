#include "app/ui/stage/stage_motion.h"

#include <algorithm>
#include <cmath>

#include "app/ui/experts/stage_experts.h"
#include "app/ui/frame/panels.h"
#include "app/ui/stage/motion_card.h"

namespace headlight {

std::optional<MotionSize> shown_motion_size(const AppState& state) {
  const Step* step = current_step(state);
  if (!step || state.derived.empty) return std::nullopt;
  const Trace& trace = *state.derived.trace;
  return motion_size(trace, step_page(trace, *step, shown_part(state)));
}

std::optional<Motion> shown_motion(const AppState& state) {
  if (!state.session.playback.shown) return std::nullopt;
  const std::optional<MotionSize> size = shown_motion_size(state);
  if (!size) return std::nullopt;
  return motion_at(*size, state.session.playback.clock);
}

std::optional<CellLink> motion_link(const AppState& state) {
  const std::optional<Motion> m = shown_motion(state);
  if (!m || m->phase == MotionPhase::kDone) return std::nullopt;
  if (m->phase == MotionPhase::kWords) return CellLink{};
  return CellLink{m->row, m->column};
}

namespace {

float row_edge(const PlacedPane& p, std::int64_t r) {
  return std::clamp(p.rows.edge(r), p.rect.y0, p.rect.y1);
}

float column_edge(const PlacedPane& p, std::int64_t c) {
  return std::clamp(p.columns.edge(c), p.rect.x0, p.rect.x1);
}

Rect cell_rect(const PlacedPane& p, std::int64_t r, std::int64_t c) {
  return {column_edge(p, c), row_edge(p, r), column_edge(p, c + 1), row_edge(p, r + 1)};
}

void frame(Ui& ui, const Rect& r, Color color) {
  // A frame around a very small cell must still be seen.
  const float x = std::max(0.0f, (ui.px(5) - r.width()) / 2) + 1;
  const float y = std::max(0.0f, (ui.px(5) - r.height()) / 2) + 1;
  ImGui::GetWindowDrawList()->AddRect({r.x0 - x, r.y0 - y}, {r.x1 + x, r.y1 + y}, to_u32(color),
                                      ui.px(2), 0, std::max(1.5f, ui.px(1.75f)));
}

// The cells that are not made yet are hidden by a few rectangles.
void cover(Ui& ui, const PlacedPane& p, const Motion& m) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const std::int64_t columns = std::max<std::int64_t>(p.pane->pane.columns, 1);
  // The first cell takes its colour as the cover over it fades.
  const bool fills = m.phase == MotionPhase::kFill;
  const std::int64_t done = fills ? 1 : m.cells_done;
  const std::int64_t row = done / columns, column = done % columns;
  if (fills) {
    const Rect first = cell_rect(p, 0, 0);
    list->AddRectFilled(first.min(), first.max(),
                        to_u32(faded(ui.theme.surface, 1 - static_cast<float>(m.part))));
  }
  if (row >= p.pane->pane.rows) return;
  const ImU32 surface = to_u32(ui.theme.surface);
  const float top = row_edge(p, row), middle = row_edge(p, row + 1);
  list->AddRectFilled({column_edge(p, column), top}, {p.rect.x1, middle}, surface);
  list->AddRectFilled({p.rect.x0, middle}, {p.rect.x1, p.rect.y1}, surface);
  list->AddRect(p.rect.min(), p.rect.max(), to_u32(ui.theme.line));
}

// The motion of a page's size, for a picture of another size.
Motion share_of(const Motion& m, const MotionSize& size, const PlacedPane& p) {
  Motion own = m;
  const std::int64_t cells = p.pane->pane.rows * p.pane->pane.columns;
  own.cells_done = m.cells_done * cells / std::max<std::int64_t>(size.cells(), 1);
  return own;
}

// The highlights that the cover has hidden.
void light_result(Ui& ui, const PlacedPane& p, const Motion& m) {
  if (m.phase == MotionPhase::kWords || m.phase == MotionPhase::kDone) return;
  if (m.row >= p.pane->pane.rows || m.column >= p.pane->pane.columns) return;
  const Rect cell = cell_rect(p, m.row, m.column);
  frame(ui, {p.rect.x0, cell.y0, p.rect.x1, cell.y1}, ui.theme.q);
  frame(ui, {cell.x0, p.rect.y0, cell.x1, p.rect.y1}, ui.theme.k);
  frame(ui, cell, ui.theme.text);
}

// The operands' cells that the term which is being told is made of.
void light_term(Ui& ui, const Trace& trace, const StagePlacement& placement, const Telling& telling,
                const Motion& m) {
  const std::int64_t told = m.phase == MotionPhase::kSum ? m.terms_summed : m.terms_shown;
  if (m.phase > MotionPhase::kSum || told < 1) return;
  const Term& term = telling.cell.terms[telling.lines[static_cast<std::size_t>(told - 1)]];
  std::vector<CellRef> cells = term.factor_cells;
  cells.push_back(term.cell);
  const Program& program = trace.program();
  for (const PlacedPane& p : placement.panes) {
    if (p.pane->pane.input < 0) continue;
    for (const CellRef& cell : cells) {
      if (cell.tensor < 0 || program.resolve(cell.tensor) != program.resolve(p.pane->tensor))
        continue;
      const std::int64_t flat = flat_index(trace.tensor(cell.tensor).axes, cell.index);
      const auto place = pane_place(p.pane->pane, flat);
      if (place) frame(ui, cell_rect(p, place->first, place->second), ui.theme.text);
    }
  }
}

}  // namespace

void draw_motion(const AppState& state, Ui& ui, const Rect& area, const StepPage& page,
                 const StagePlacement& placement) {
  const std::optional<Motion> m = shown_motion(state);
  if (!m || m->phase == MotionPhase::kDone) return;
  const Trace& trace = *state.derived.trace;
  for (const PlacedPane& p : placement.panes) {
    if (!is_made(page, trace.program(), *p.pane)) continue;
    cover(ui, p, page.backward ? share_of(*m, motion_size(trace, page), p) : *m);
    if (!page.backward) light_result(ui, p, *m);
  }
  if (page.backward) return;
  if (m->phase == MotionPhase::kWords || m->phase > MotionPhase::kFill) return;
  const Telling telling = tell_cell(trace, page, 0, 0);
  light_term(ui, trace, placement, telling, *m);
  draw_motion_card(ui, trace, page, area, placement, telling, *m);
}

}  // namespace headlight
