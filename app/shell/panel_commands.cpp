#include "app/shell/panel_commands.h"

namespace headlight {
namespace {

// Shows a panel that is folded and folds one that is shown; opened by hand it stays open.
void toggle(Session& s, PanelId id, std::optional<bool>& wanted, bool& shown) {
  const bool alone = s.maximized == id;
  const bool open = s.maximized != PanelId::kNone && !alone ? true : !shown;
  s.maximized = PanelId::kNone;
  wanted = shown = open;
  if (open) s.last_opened = id;
}

// The panel that holds the control with the keyboard; the stage when there is none.
PanelId panel_in_use(const Focus& focus) {
  if (!focus.visible) return PanelId::kStage;
  const auto starts = [&](std::string_view part) { return focus.id.starts_with(part); };
  if (starts("heads/") || focus.id == "maximize/heads") return PanelId::kHeads;
  if (starts("inspector/") || starts("term/") || starts("copy/") ||
      focus.id == "maximize/inspector")
    return PanelId::kInspector;
  return PanelId::kStage;
}

}  // namespace

bool perform_panel_command(Session& s, Command command) {
  switch (command) {
    case Command::kToggleRail:
      toggle(s, PanelId::kRail, s.rail_open, s.rail_shown);
      return true;
    case Command::kToggleHeads:
      toggle(s, PanelId::kHeads, s.heads_open, s.heads_shown);
      return true;
    case Command::kToggleInspector:
      toggle(s, PanelId::kInspector, s.inspector_open, s.inspector_shown);
      return true;
    case Command::kMaximize:
      s.maximized = s.maximized == PanelId::kNone ? panel_in_use(s.focus) : PanelId::kNone;
      return true;
    case Command::kResetPanels:
      s.sizes = {};
      s.rail_open.reset();
      s.heads_open.reset();
      s.inspector_open.reset();
      s.maximized = s.last_opened = PanelId::kNone;
      return true;
    case Command::kHints:
      s.hint = 0;
      s.maximized = PanelId::kNone;
      return true;
    default:
      return false;
  }
}

}  // namespace headlight
