// What is waited for: how far it is, and a way to stop it. Small runs never show it.
#include <algorithm>
#include <cmath>

#include "app/ui/frame/panels.h"

namespace headlight {
namespace {

constexpr double kPatient = 0.3;  // seconds without a word

}  // namespace

void panel_waiting(const AppState& state, Ui& ui, float width, float height) {
  const ComputingDerived& d = state.derived;
  if (!d.computing || d.waiting < kPatient) return;
  const std::string percent = std::to_string(static_cast<int>(100 * d.share));
  const std::string words =
      d.opening.empty()
          ? ui.tr("waiting.run", {{"share", percent}})
          : ui.tr("waiting.model", {{"name", to_field_text(d.opening)}, {"share", percent}});
  const std::string_view stop = ui.tr("waiting.stop");
  const float pad = ui.px(14), line = ui.px(28);
  const float button = ui.measure(ui.fonts.control, stop).x + ui.px(22);
  const float text = ui.measure(ui.fonts.control, words).x + ui.px(8);  // digits come and go
  const float wide = std::min(std::max(text, ui.px(180)) + button + 3 * pad, width - ui.px(24));
  // On whole pixels, as windows are: the frame would be cut.
  const float x0 = std::floor((width - wide) / 2), y1 = std::floor(height - ui.px(24));
  const Rect r{x0, y1 - std::ceil(line + 2 * pad), x0 + std::ceil(wide), y1};
  ImGui::SetNextWindowPos(r.min());
  ImGui::SetNextWindowSize({r.width(), r.height()});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::Begin("waiting", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBackground |
                   ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoNav);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(r.min(), r.max(), to_u32(ui.theme.surface), ui.px(8));
  list->AddRect(r.min(), r.max(), to_u32(ui.theme.text), ui.px(8), 0, ui.px(1.5f));
  const Rect stops{r.x1 - pad - button, r.y0 + pad, r.x1 - pad, r.y0 + pad + line};
  const Rect bar{r.x0 + pad, r.y1 - pad - ui.px(5), stops.x0 - pad, r.y1 - pad};
  ui.text(ui.fonts.control, {bar.x0, r.y0 + pad}, ui.theme.text, words, bar.width());
  list->AddRectFilled(bar.min(), bar.max(), to_u32(ui.theme.line), ui.px(2));
  ui.bar(bar, d.share, ui.theme.q);
  if (ui.button("waiting/stop", stop, stops)) ui.push(StopWaiting{});
  ui.drawn.add("panel/waiting", r.min(), r.max());
  ImGui::End();
  ImGui::PopStyleVar(2);
}

}  // namespace headlight
