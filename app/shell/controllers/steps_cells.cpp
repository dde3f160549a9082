// The cells of the steps: the one that is picked, and the trail that led to it.
#include <algorithm>

#include "app/shell/controllers/steps_controller.h"
#include "core/view/pane_layout.h"

namespace headlight {
namespace {

struct PanePlace {
  const PagePane* pane = nullptr;
  std::int64_t row = 0, column = 0;
};

// The pane of the page that shows the picked cell: the focused one first, then the result.
PanePlace place_of_pick(const Trace& trace, const StepPage& page, const Session& s) {
  const PagePane* focused = nullptr;
  std::vector<const PagePane*> panes;
  for (const auto& line : page.lines) {
    for (auto p = line.rbegin(); p != line.rend(); ++p) panes.push_back(&*p);
  }
  if (s.focus.visible && s.focus.kind == FocusKind::kPane) {
    for (const PagePane* p : panes) {
      const std::string& name = trace.program().tensors[static_cast<std::size_t>(p->tensor)].name;
      if (s.focus.id.ends_with("/" + name)) focused = p;
    }
  }
  const TensorView picked = s.picked ? trace.find(s.picked->tensor) : TensorView{};
  if (picked.data && s.picked->index.size() == picked.axes.size()) {
    const TensorId id = trace.program().resolve(trace.program().find(s.picked->tensor));
    for (const PagePane* p : panes) {
      if (focused && p != focused) continue;
      if (trace.program().resolve(p->tensor) != id) continue;
      const auto place = pane_place(p->pane, flat_index(picked.axes, s.picked->index));
      if (place) return {p, place->first, place->second};
    }
  }
  return {focused ? focused : panes.empty() ? nullptr : panes.front(), 0, 0};
}

}  // namespace

bool has_cell(const Trace& trace, const CellPick& cell) {
  const TensorView t = trace.find(cell.tensor);
  bool fits = t.data && cell.index.size() == t.axes.size();
  for (std::size_t a = 0; fits && a < t.axes.size(); ++a) {
    fits = cell.index[a] >= 0 && cell.index[a] < t.axes[a].size;
  }
  return fits;
}

void StepsController::on(const PickCell& a) {
  StepsSession& s = session_;
  // A term of the cell, or what comes of it, lengthens the trail; a cell picked elsewhere starts
  // a new one.
  if (a.follow && s.picked && !(*s.picked == a.cell)) {
    s.trail.push_back(*s.picked);
  } else if (!a.follow) {
    s.trail.clear();
  }
  if (a.follow) go_to(a.cell.tensor);
  s.picked = trail_end_ = a.cell;
  chosen_ = true;
  s.all_terms = false;
  const TensorId id =
      state_.derived.trace ? state_.derived.trace->program().find(a.cell.tensor) : -1;
  if (id < 0) return;
  const int head_axis = state_.derived.trace->tensor(id).find_dim("head");
  if (head_axis < 0) return;
  s.head = static_cast<int>(a.cell.index[static_cast<std::size_t>(head_axis)]);
}

void StepsController::on(const GoBackTo& a) {
  StepsSession& s = session_;
  if (a.crumb >= s.trail.size()) return;
  const CellPick cell = s.trail[a.crumb];
  std::vector<CellPick> before(s.trail.begin(),
                               s.trail.begin() + static_cast<std::ptrdiff_t>(a.crumb));
  if (!state_.derived.trace || !has_cell(*state_.derived.trace, cell)) {
    s.trail = std::move(before);  // the model has changed since: that cell is no more
    return;
  }
  on(PickCell{cell, true});
  s.trail = std::move(before);
}

void StepsController::on(Is<kBack>) {
  if (!session_.trail.empty()) on(GoBackTo{session_.trail.size() - 1});
}

// Another step or head leaves the way that was gone.
void StepsController::update() {
  const auto& trace = state_.derived.trace;
  if (session_.picked != trail_end_) session_.trail.clear();
  if (trace) std::erase_if(session_.trail, [&](const CellPick& c) { return !has_cell(*trace, c); });
}

void StepsController::on(const MoveCell& a) {
  if (!state_.derived.trace) return;
  const Session& s = state_.session;
  const Trace& trace = *state_.derived.trace;
  const TensorId id = trace.program().find(s.step);
  if (id < 0) return;
  const Step& step = trace.program().steps[static_cast<std::size_t>(trace.program().step_of(id))];
  const StepPage page = step_page(trace, step, s.head);
  if (page.lines.empty()) {  // the tokens in a row
    const Program& program = trace.program();
    const std::string& tokens = program.tensors[static_cast<std::size_t>(program.token_ids)].name;
    const bool on_tokens = s.picked && s.picked->tensor == tokens;
    const std::int64_t now = on_tokens ? s.picked->index.back() : 0;
    const std::int64_t next =
        std::clamp<std::int64_t>(now + a.columns + a.rows, 0, trace.length() - 1);
    on(PickCell{{tokens, {0, next}}});
    return;
  }
  const PanePlace place = place_of_pick(trace, page, s);
  if (!place.pane) return;
  const Pane& pane = place.pane->pane;
  const auto row = std::clamp<std::int64_t>(place.row + a.rows, 0, pane.rows - 1);
  const auto column = std::clamp<std::int64_t>(place.column + a.columns, 0, pane.columns - 1);
  const TensorView t = trace.tensor(place.pane->tensor);
  on(PickCell{{std::string(t.name), unravel(t.axes, pane_flat(pane, row, column))}});
  requests_.view.follow = true;  // into sight, where the matrix is zoomed into
}

}  // namespace headlight
