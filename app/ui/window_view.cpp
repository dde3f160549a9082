// The whole window: every panel at its place.
#include <algorithm>

#include "app/ui/panels.h"

namespace headlight {
namespace {

// The one window of ImGui that everything is drawn in.
void begin_canvas(float width, float height) {
  ImGui::SetNextWindowPos({0, 0});
  ImGui::SetNextWindowSize({width, height});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  const int flags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                    ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoSavedSettings |
                    ImGuiWindowFlags_NoScrollWithMouse;
  ImGui::Begin("headlight", nullptr, flags);
  ImGui::PopStyleVar(3);
}

// Esc takes back one thing: a field or what is open, then the ring, then the whole window.
void leave(const AppState& state, Ui& ui) {
  const Session& s = state.session;
  ImGuiContext& context = *ImGui::GetCurrentContext();
  if (context.OpenPopupStack.Size > 0 || context.ActiveId != 0) {
    leave_everything();
  } else if (s.focus.visible) {
    ui.push(FocusOn{s.focus.id, s.focus.kind, false, false, ""});
  } else if (s.maximized != PanelId::kNone) {
    ui.push(Maximize{PanelId::kNone});
  }
  ui.push(FocusDone{});
}

}  // namespace

void draw_stage_only(const AppState& state, Ui& ui, float width, float height, bool all_heads) {
  begin_canvas(width, height);
  if (all_heads) {
    panel_stage_heads(state, ui, {0, 0, width, height});
  } else {
    panel_stage(state, ui, {0, 0, width, height});
  }
  ImGui::End();
}

void draw_window(const AppState& state, Ui& ui, float width, float height) {
  const Session& s = state.session;
  const WindowLayout l = window_layout(width, height, ui.scale, s.heads_open, s.inspector_open,
                                       notices_height(state, ui, width - ui.px(40)));
  begin_canvas(width, height);
  if (l.heads_open != s.heads_shown || l.inspector_open != s.inspector_shown) {
    ui.push(Folded{true, l.heads_open, l.inspector_open});
  }
  if (s.leave_field) leave(state, ui);
  if (!state.notices.empty()) panel_notices(state, ui, l.notices);
  panel_sentence(state, ui, l.sentence);
  panel_model(state, ui, l.model);
  panel_switches(state, ui, l.switches);
  panel_rail(state, ui, l.rail);
  panel_stage(state, ui, l.stage);
  panel_heads(state, ui, l.heads, l.heads_open);
  panel_inspector(state, ui, l.inspector, l.inspector_open);
  panel_menu(state, ui, l.menu);  // last in the order of the Tab key
  panel_help(state, ui, width, height);
  ui.settle_focus();
  ImGui::End();
}

}  // namespace headlight
