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
    ui.push(Folded{l.heads_open, l.inspector_open});
  }
  if (s.leave_field) {
    leave_everything();
    ui.push(FocusDone{});
  }
  panel_menu(state, ui, l.menu);
  if (!state.notices.empty()) panel_notices(state, ui, l.notices);
  panel_sentence(state, ui, l.sentence);
  panel_model(state, ui, l.model);
  panel_switches(state, ui, l.switches);
  panel_rail(state, ui, l.rail);
  panel_stage(state, ui, l.stage);
  panel_heads(state, ui, l.heads, l.heads_open);
  panel_inspector(state, ui, l.inspector, l.inspector_open);
  panel_help(state, ui, width, height);
  ImGui::End();
}

}  // namespace headlight
