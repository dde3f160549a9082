// The shell's part for the keyboard: which control has it, and the chosen cell by arrow keys.
#include <algorithm>

#include "app/shell/shell.h"
#include "core/view/pane_layout.h"

namespace headlight {

bool Shell::perform_focus(Command command) {
  Focus& focus = state_.session.focus;
  switch (command) {
    case Command::kFocusNext:
      ++focus.move;
      return true;
    case Command::kFocusPrevious:
      --focus.move;
      return true;
    case Command::kFocusMenu:
      on(FocusOn{"menu/File", FocusKind::kMenu, true, true, ""});
      return true;
    case Command::kActivate:
      on(UseFocus{0, 0, true});
      return true;
    case Command::kCellLeft:
      on(MoveCell{0, -1});
      return true;
    case Command::kCellRight:
      on(MoveCell{0, 1});
      return true;
    case Command::kCellUp:
      on(MoveCell{-1, 0});
      return true;
    case Command::kCellDown:
      on(MoveCell{1, 0});
      return true;
    default:
      return false;
  }
}

// Keys that mean something else while a ring is drawn: Space presses instead of playing, arrows
// move within what is focused.
bool Shell::focus_takes(const Shortcut& key) {
  const Focus& focus = state_.session.focus;
  if (!focus.visible || key.ctrl) return false;
  if (key.key == kKeySpace || key.key == kKeyEnter) {
    push(UseFocus{0, 0, true});
    return true;
  }
  if (key.shift) return false;
  const int across = key.key == kKeyRight ? 1 : key.key == kKeyLeft ? -1 : 0;
  const int along = key.key == kKeyDown ? 1 : key.key == kKeyUp ? -1 : 0;
  if (across == 0 && along == 0) return false;
  if (focus.kind == FocusKind::kPane) {
    push(MoveCell{along, across});
  } else if (focus.kind == FocusKind::kSlider) {
    push(UseFocus{0, across != 0 ? across : -along, false});
  } else if (focus.kind == FocusKind::kMenu && along > 0) {
    push(UseFocus{0, 0, true});
  } else if (focus.kind == FocusKind::kMenu || along != 0) {
    push(UseFocus{across + along, 0, false});
  } else {
    return false;  // the arrow goes to the next step, as without a ring
  }
  return true;
}

void Shell::on(const FocusOn& a) {
  state_.session.focus = {a.id, a.kind, a.visible, a.opener, 0, 0, false, a.reveal};
}

void Shell::on(const UseFocus& a) {
  Focus& focus = state_.session.focus;
  focus.move += a.move;
  focus.nudge += a.nudge;
  focus.activate |= a.activate;
}

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

void Shell::on(const MoveCell& a) {
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
  state_.session.view_request.follow = true;  // into sight, where the matrix is zoomed into
}

}  // namespace headlight
