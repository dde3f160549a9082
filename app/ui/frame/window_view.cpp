// The whole window: every panel at its place.
#include <algorithm>

#include "app/ui/compute/compute_view.h"
#include "app/ui/cost/cost_view.h"
#include "app/ui/frame/hints.h"
#include "app/ui/frame/panel_frame.h"
#include "app/ui/frame/panels.h"
#include "app/ui/labs/labs_view.h"
#include "app/ui/train/panel_train.h"

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
                    ImGuiWindowFlags_NoScrollWithMouse |
                    ImGuiWindowFlags_NoBackground;  // whoever draws the frame cleared it
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
}

bool shown(const Rect& r) { return r.width() >= 1 && r.height() >= 1; }

// Draws on in a panel that has been drawn, over what stands in it; `draw` gets how far it is
// scrolled.
void draw_on(const char* id, const Rect& r, auto draw) {
  ImGui::SetCursorScreenPos({r.x0 + 1, r.y0 + 1});
  begin_child(id, {r.width() - 2, r.height() - 2}, ImGuiWindowFlags_NoBackground);
  draw(ImGui::GetScrollY());
  ImGui::EndChild();
}

// In the places of the steps: the run, its curves, its heads, what it says.
void draw_training(const AppState& state, Ui& ui, const WindowLayout& l) {
  if (shown(l.rail))
    l.rail_open ? panel_train(state, ui, l.rail)
                : panel_tab(ui, PanelId::kRail, l.rail, Mode::kTrain);
  if (shown(l.stage)) panel_train_chart(state, ui, l.stage);
  if (shown(l.heads)) {
    l.heads_open ? panel_train_heads(state, ui, l.heads)
                 : panel_tab(ui, PanelId::kHeads, l.heads, Mode::kTrain);
  }
  if (!shown(l.inspector)) return;
  l.inspector_open ? panel_train_side(state, ui, l.inspector)
                   : panel_tab(ui, PanelId::kInspector, l.inspector, Mode::kTrain);
}

// In the same places: all labs, the page of one, what it asks.
void draw_labs(const AppState& state, Ui& ui, const WindowLayout& l) {
  if (shown(l.rail))
    l.rail_open ? panel_lab_list(state, ui, l.rail)
                : panel_tab(ui, PanelId::kRail, l.rail, Mode::kLabs);
  const bool beside = shown(l.switches) && !l.compact;
  if (shown(l.stage)) panel_lab_page(state, ui, l.stage, !beside);
  if (!shown(l.inspector)) return;
  l.inspector_open ? panel_lab_side(state, ui, l.inspector)
                   : panel_tab(ui, PanelId::kInspector, l.inspector, Mode::kLabs);
}

// The settings of a run need more room than a list of steps, its heads more than a row.
void request_for_training(const Session& s, float height, float scale, LayoutPreferences& wanted) {
  if (height < 420 * scale) return;
  wanted.sizes.rail = std::max(s.sizes.rail, 244.0f);
  if (s.sizes.heads <= 0)
    wanted.sizes.heads = std::clamp((height / scale - 190) * 0.5f, 150.0f, 420.0f);
}

// Room for a row of each attention, as long as the stage keeps three quarters of the height.
void request_for_heads(const AppState& state, float height, LayoutPreferences& wanted) {
  constexpr float kHead = 46, kRow = 44;
  const auto rows = static_cast<float>(state.derived.grid.rows.size());
  if (wanted.sizes.heads <= 0 && height >= 800 && rows > 3)
    wanted.sizes.heads = std::clamp(kHead + rows * kRow, 0.225f * height, 0.25f * height);
}

void draw_panels(const AppState& state, Ui& ui, const WindowLayout& l) {
  if (state.session.mode == Mode::kTrain) return draw_training(state, ui, l);
  if (state.session.mode == Mode::kLabs) return draw_labs(state, ui, l);
  if (shown(l.rail))
    l.rail_open ? panel_rail(state, ui, l.rail) : panel_tab(ui, PanelId::kRail, l.rail);
  if (shown(l.stage)) {
    panel_stage(state, ui, l.stage);
    draw_on("stage", l.stage, [&](float) {
      const Rect& r = l.stage;
      maximize_button(state, ui, PanelId::kStage,
                      {r.x1 - ui.px(23), r.y0 + ui.px(4), r.x1 - ui.px(4), r.y0 + ui.px(22)});
    });
  }
  if (shown(l.heads)) {
    if (l.heads_open) {
      panel_heads(state, ui, l.heads, true);
    } else {
      panel_tab(ui, PanelId::kHeads, l.heads);
    }
  }
  if (!shown(l.inspector)) return;
  if (!l.inspector_open) return panel_tab(ui, PanelId::kInspector, l.inspector);
  panel_inspector(state, ui, l.inspector, true);
  draw_on("inspector", l.inspector, [&](float scroll) {
    const Rect& r = l.inspector;
    const float top = r.y0 - scroll;
    maximize_button(state, ui, PanelId::kInspector,
                    {r.x1 - ui.px(68), top + ui.px(8), r.x1 - ui.px(46), top + ui.px(34)});
  });
}

// Two floors: the sentence, and what comes next.
void sentence_card(const AppState& state, Ui& ui, const WindowLayout& l) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const bool next = shown(l.next);
  const Rect card{l.sentence.x0, l.sentence.y0, l.sentence.x1, next ? l.next.y1 : l.sentence.y1};
  list->AddRectFilled(card.min(), card.max(), to_u32(ui.theme.surface), ui.px(8));
  list->AddRect(card.min(), card.max(), to_u32(ui.theme.line), ui.px(8));
  panel_sentence(state, ui, l.sentence);
  if (!next) return;
  list->AddLine({l.next.x0, l.next.y0}, {l.next.x1, l.next.y0}, to_u32(ui.theme.line));
  panel_next(state, ui, l.next);
}

}  // namespace

void draw_stage_only(const AppState& state, Ui& ui, float width, float height, bool all_heads) {
  begin_canvas(width, height);
  if (all_heads) {
    panel_stage_heads(state, ui, {0, 0, width, height});
  } else {
    panel_stage(state, ui, {0, 0, width, height});
  }
  if (ui.hovered_cell != state.session.hovered) ui.push(HoverCell{ui.hovered_cell});
  ImGui::End();
}

void draw_window(const AppState& state, Ui& ui, float width, float height) {
  const Session& s = state.session;
  LayoutPreferences wanted{s.rail_open, s.heads_open, s.inspector_open,
                           s.sizes,     s.maximized,  s.last_opened};
  const bool labs = s.mode == Mode::kLabs;
  if (s.mode == Mode::kTrain) request_for_training(s, height, ui.scale, wanted);
  if (s.mode == Mode::kSteps) request_for_heads(state, height / ui.scale, wanted);
  const float vision = vision_height(state, ui, width);
  wanted.next = s.mode == Mode::kSteps;
  if (labs) {
    wanted.has_heads = false;
    wanted.switches_height = lab_controls(state, ui, {0, 0, width - ui.px(40), 0}, false);
  }
  wanted.notices_height = vision + notices_height(state, ui, width - ui.px(40));
  const WindowLayout l = window_layout(width, height, ui.scale, wanted);
  begin_canvas(width, height);
  const bool folded_else = l.rail_open != s.rail_shown ||
                           (l.heads_open != s.heads_shown && !labs) ||
                           l.inspector_open != s.inspector_shown;
  if (folded_else) ui.push(Folded{l.rail_open, l.heads_open, l.inspector_open});
  if (state.requests.leave_field) leave(state, ui);
  if (!state.notices.empty())
    panel_notices(state, ui, {l.notices.x0, l.notices.y0 + vision, l.notices.x1, l.notices.y1});
  if (shown(l.sentence)) {
    sentence_card(state, ui, l);
    panel_model(state, ui, l.model);
    if (!labs) panel_switches(state, ui, l.switches);
    if (labs && !l.compact) lab_controls(state, ui, l.switches);
  }
  draw_panels(state, ui, l);
  panel_splits(state, ui, l);
  panel_menu(state, ui, l.menu);  // last in the order of the Tab key
  panel_vision(state, ui, l.menu, l.notices);
  panel_help(state, ui, width, height);
  panel_files(state, ui, width, height);
  panel_runs(state, ui, width, height);
  panel_paths(state, ui, width, height);
  panel_compute(state, ui, width, height);
  panel_cost(state, ui, width, height);
  panel_forced(state, ui, width, height);
  panel_palette(state, ui, width, height);
  panel_hint(state, ui, width, height);
  panel_waiting(state, ui, width, height);
  ui.settle_focus();
  if (ui.hovered_cell != state.session.hovered) ui.push(HoverCell{ui.hovered_cell});
  ImGui::End();
}

}  // namespace headlight
