#include "app/ui/matrix/linked_hover.h"

#include <algorithm>
#include <cmath>

#include "app/ui/matrix/pane_view.h"

namespace headlight {

std::optional<std::pair<std::int64_t, std::int64_t>> hovered_place(const AppState& state,
                                                                   const PagePane& p,
                                                                   OtherHeads others) {
  const std::optional<CellPick>& cell = state.session.hovered;
  if (!cell || !state.derived.trace) return std::nullopt;
  const Trace& trace = *state.derived.trace;
  const TensorId id = trace.program().find(cell->tensor);
  if (id < 0 || trace.program().resolve(id) != trace.program().resolve(p.tensor))
    return std::nullopt;
  const TensorView t = trace.tensor(id);
  if (cell->index.size() != t.axes.size()) return std::nullopt;
  std::vector<std::int64_t> index = cell->index;
  for (std::size_t a = 0; a < index.size(); ++a) {
    if (index[a] < 0 || index[a] >= t.axes[a].size) return std::nullopt;
  }
  const auto exact = pane_place(p.pane, flat_index(t.axes, index));
  const int head = t.find_dim("head");
  if (exact || head < 0 || others == OtherHeads::kIgnore) return exact;
  const auto axis = static_cast<std::size_t>(head);
  index[axis] = unravel(t.axes, p.pane.offset)[axis];
  return pane_place(p.pane, flat_index(t.axes, index));
}

CellLink hovered_link(const AppState& state, const StepPage& page) {
  for (const OtherHeads others : {OtherHeads::kIgnore, OtherHeads::kSamePlace}) {
    for (const auto& line : page.lines) {
      // The result first: the same tensor may also stand as an operand.
      for (auto p = line.rbegin(); p != line.rend(); ++p) {
        const auto place = hovered_place(state, *p, others);
        if (place) return link_from(*state.derived.trace, *p, place->first, place->second);
      }
    }
  }
  return {};
}

namespace {

using Mark = DrawnMark::Kind;

void frame(Ui& ui, Mark kind, const Rect& cells, Color color) {
  // A frame around a very small cell must still be seen.
  const float least = ui.px(5);
  const float out_x = std::max(0.0f, (least - cells.width()) / 2) + 1;
  const float out_y = std::max(0.0f, (least - cells.height()) / 2) + 1;
  ImGui::GetWindowDrawList()->AddRect({cells.x0 - out_x, cells.y0 - out_y},
                                      {cells.x1 + out_x, cells.y1 + out_y}, to_u32(color), ui.px(2),
                                      0, std::max(1.0f, ui.px(1.25f)));
  ui.drawn.add_mark(kind, cells.min(), cells.max());
}

void mark(Ui& ui, const PagePane& p, const Rect& r,
          const std::optional<std::pair<std::int64_t, std::int64_t>>& place, bool whole) {
  if (!place) return;
  const float w = r.width() / static_cast<float>(std::max<std::int64_t>(p.pane.columns, 1));
  const float h = r.height() / static_cast<float>(std::max<std::int64_t>(p.pane.rows, 1));
  const float x = r.x0 + static_cast<float>(place->second) * w;
  const float y = r.y0 + static_cast<float>(place->first) * h;
  if (whole) {
    frame(ui, Mark::kRow, {r.x0, y, r.x1, y + h}, ui.theme.q);
    frame(ui, Mark::kColumn, {x, r.y0, x + w, r.y1}, ui.theme.k);
  }
  frame(ui, Mark::kCell, {x, y, x + w, y + h}, ui.theme.text);
}

}  // namespace

void mark_hovered_cell(const AppState& state, Ui& ui, const PagePane& p, const Rect& r) {
  mark(ui, p, r, hovered_place(state, p, OtherHeads::kIgnore), false);
}

void mark_hovered_cell(const AppState& state, Ui& ui, const PlacedPane& p) {
  const auto place = hovered_place(state, *p.pane, OtherHeads::kIgnore);
  if (place) mark_cell(ui, p, place->first, place->second);
}

void mark_cell(Ui& ui, const PlacedPane& p, std::int64_t r, std::int64_t c) {
  if (!p.rows.sees(r) || !p.columns.sees(c)) return;
  ImGui::GetWindowDrawList()->PushClipRect(p.rect.min(), p.rect.max(), true);
  frame(ui, Mark::kCell, p.cell_rect(r, c), ui.theme.text);
  ImGui::GetWindowDrawList()->PopClipRect();
}

void mark_hovered_place(const AppState& state, Ui& ui, const PagePane& p, const Rect& r) {
  mark(ui, p, r, hovered_place(state, p, OtherHeads::kSamePlace), true);
}

void hover_picture(const AppState& state, Ui& ui, const PagePane& p, const Rect& r) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (!r.contains(mouse) || !state.derived.trace) return;
  const auto at = [](float part, std::int64_t count) {
    return std::clamp<std::int64_t>(
        static_cast<std::int64_t>(std::floor(part * static_cast<float>(count))), 0, count - 1);
  };
  if (p.pane.rows < 1 || p.pane.columns < 1) return;
  const std::int64_t row = at((mouse.y - r.y0) / r.height(), p.pane.rows);
  const std::int64_t column = at((mouse.x - r.x0) / r.width(), p.pane.columns);
  const Trace& trace = *state.derived.trace;
  const TensorView t = trace.tensor(p.tensor);
  const std::int64_t flat = pane_flat(p.pane, row, column);
  ui.hovered_cell = CellPick{std::string(t.name), unravel(t.axes, flat)};
  cell_tooltip(ui, trace, p, row, column, t.data[flat]);
}

}  // namespace headlight
