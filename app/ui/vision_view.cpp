// Says that the window's colours are those of other eyes, with the way back.
#include <algorithm>
#include <array>

#include "app/ui/commands.h"
#include "app/ui/panels.h"

namespace headlight {

void panel_vision(const AppState& state, Ui& ui, float width) {
  if (state.session.vision == Vision::kFull) return;
  static constexpr std::array<std::string_view, kVisionCount> kNames = {
      "vision.full", "vision.protanopia", "vision.deuteranopia", "vision.tritanopia",
      "vision.grey"};
  const std::string words = ui.tr(
      "vision.on",
      {{"vision", std::string(ui.tr(kNames[static_cast<std::size_t>(state.session.vision)]))}});
  const std::string_view back = ui.tr("vision.back");
  const float text = ui.measure(ui.fonts.control, words).x;
  const float button = ui.measure(ui.fonts.control, back).x + ui.px(20);
  const float pad = ui.px(12), height = ui.px(34);
  const float whole = text + button + 3 * pad;
  const float x = std::max(0.0f, (width - whole) / 2), y = ui.px(3);
  ImGui::SetCursorScreenPos({x, y});
  begin_child("vision", {whole, height}, ImGuiWindowFlags_NoScrollbar);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled({x, y}, {x + whole, y + height}, to_u32(ui.theme.text), ui.px(8));
  ui.text(ui.fonts.control, {x + pad, y + (height - ui.fonts.control->FontSize) / 2},
          ui.theme.surface, words);
  const Rect r{x + text + 2 * pad, y + ui.px(4), x + text + 2 * pad + button,
               y + height - ui.px(4)};
  if (ui.button("vision/back", back, r)) ui.push(ChooseVision{Vision::kFull});
  ui.probe.add("vision", {x, y}, {x + whole, y + height}, false);
  ImGui::EndChild();
}

}  // namespace headlight
