// The sheet "Memory and time".
#include <algorithm>

#include "app/ui/cost/cost_view.h"
#include "app/ui/frame/panels.h"
#include "app/ui/kit/imgui_compat.h"
#include "app/ui/state/commands.h"

namespace headlight {
namespace {

// Title, which of the two is shown, the cross that closes the sheet. Returns the height.
float cost_head(const AppState& state, Ui& ui, const Rect& r) {
  const Rect close = sheet_close(ui, "cost/close", r);
  const std::string_view title = ui.tr("cost.title");
  ui.text(ui.fonts.title, r.min(), ui.theme.text, title, close.x0 - r.x0);
  const std::string tabs[] = {std::string(ui.tr("cost.tab.model")),
                              std::string(ui.tr("cost.tab.presets"))};
  const std::string_view ids[] = {"model", "presets"};
  const float wide = ui.segmented_width(tabs);
  const float beside = r.x0 + ui.measure(ui.fonts.title, title).x + ui.px(24);
  const bool below = beside + wide > close.x0 - ui.px(8);  // a narrow window
  const ImVec2 at{below ? r.x0 : close.x0 - ui.px(14) - wide, r.y0 + ui.px(below ? 34 : 1)};
  const int tab =
      ui.segmented("cost/tab", tabs, state.session.show_presets ? 1 : 0, at, ui.px(28), ids);
  if (tab >= 0) ui.push(ShowPresets{tab == 1});
  return ui.px(below ? 70 : 42);
}

// In two columns where there is room: sizes and what they come to, curves and tables.
float model_body(const AppState& state, Ui& ui, const Rect& r) {
  const bool two = r.width() > ui.px(760);
  const float left = two ? ui.px(360) : r.width();
  float y = cost_sizes(state, ui, {r.x0, r.y0, r.x0 + left, r.y1}) + ui.px(10);
  y = cost_facts(state, ui, {r.x0, y, r.x0 + left, r.y1});
  const float x = two ? r.x0 + left + ui.px(28) : r.x0;
  float other = two ? r.y0 : y + ui.px(12);
  other = cost_curves(state, ui, {x, other, r.x1, r.y1}) + ui.px(12);
  other = cost_tables(state, ui, {x, other, r.x1, r.y1});
  return std::max(y, other);
}

}  // namespace

float cost_links(Ui& ui, ImVec2 at) {
  for (const Command command : {Command::kPresets, Command::kCost}) {
    const std::string_view label = command_label(ui.language, command);
    const float wide = ui.measure(ui.fonts.control, label).x + ui.px(20);
    const std::string id = "model/" + std::string(command == Command::kCost ? "cost" : "presets");
    const Rect r{at.x, at.y, at.x + wide, at.y + ui.px(28)};
    at.x = r.x1 + ui.px(4);
    if (!ui.button(id, label, r, false, true, command_help(ui.language, command))) continue;
    ui.push(DoCommand{command});
    ImGui::CloseCurrentPopup();
  }
  return ui.px(38);
}

void panel_cost(const AppState& state, Ui& ui, float width, float height) {
  const bool wanted = state.requests.open == Sheet::kCost;
  if (!wanted && !ImGui::IsPopupOpen("cost")) return;
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  const ImVec2 size{std::min(ui.px(1120), width - ui.px(16)), std::min(ui.px(760), height)};
  const bool open = begin_sheet(ui, "cost", wanted, width, height, size);
  ImGui::PopStyleVar();
  if (!open) return;
  const Derived& d = state.derived;
  const std::uint64_t serial = d.trace ? d.trace->serial() : 0;
  if (d.presets.empty() || d.cost_of != serial || d.cost_with != state.session.cost_sizes)
    ui.push(CountCost{});
  const ImVec2 at = ImGui::GetWindowPos(), drawn = ImGui::GetWindowSize();
  const Rect inside{at.x + ui.px(20), at.y + ui.px(16), at.x + drawn.x - ui.px(20),
                    at.y + drawn.y - ui.px(12)};
  const float top = inside.y0 + cost_head(state, ui, inside);
  ImGui::SetCursorScreenPos({inside.x0, top});
  const ImVec2 room{inside.width() + ui.px(12), std::max(inside.y1 - top, ui.px(20))};
  begin_child(state.session.show_presets ? "cost_presets" : "cost_model", room,
              ImGuiWindowFlags_NoBackground);
  const ImVec2 start = ImGui::GetCursorScreenPos();
  const Rect body{start.x, start.y, start.x + inside.width() - ui.px(6), inside.y1};
  const float end =
      state.session.show_presets ? cost_presets(state, ui, body) : model_body(state, ui, body);
  ImGui::SetCursorScreenPos({start.x, end});
  ImGui::Dummy({1, ui.px(6)});
  ImGui::EndChild();
  ui.drawn.add("panel/cost", at, {at.x + drawn.x, at.y + drawn.y});
  ImGui::EndPopup();
}

}  // namespace headlight
