// Says that the window's colours are those of other eyes, with the way back.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/ui/frame/panels.h"
#include "app/ui/state/commands.h"

namespace headlight {

namespace {

struct Banner {
  std::string words;
  float text = 0, button = 0, pad = 0;
  float width() const { return text + button + 3 * pad; }
};

Banner banner(const AppState& state, const Ui& ui) {
  static constexpr std::array<std::string_view, kVisionCount> kNames = {
      "vision.full", "vision.protanopia", "vision.deuteranopia", "vision.tritanopia",
      "vision.grey"};
  Banner b;
  const std::string_view name = kNames[static_cast<std::size_t>(state.session.vision)];
  b.words = ui.tr("vision.on", {{"vision", std::string(ui.tr(name))}});
  b.text = ui.measure(ui.fonts.control, b.words).x;
  b.button = ui.measure(ui.fonts.control, ui.tr("vision.back")).x + ui.px(20);
  b.pad = ui.px(12);
  return b;
}

// In the middle of the menus' line, where the menus leave room; else on a line of its own.
bool in_menu_line(const Ui& ui, const Banner& b, float width) {
  return (width - b.width()) / 2 >= ui.px(560);
}

}  // namespace

float vision_height(const AppState& state, const Ui& ui, float width) {
  const bool none = state.session.vision == Vision::kFull;
  return none || in_menu_line(ui, banner(state, ui), width) ? 0 : ui.px(40);
}

void panel_vision(const AppState& state, Ui& ui, const Rect& menu, const Rect& notices) {
  if (state.session.vision == Vision::kFull) return;
  const Banner b = banner(state, ui);
  const bool in_menu = in_menu_line(ui, b, menu.width());
  const float x = std::round(menu.x0 + (menu.width() - b.width()) / 2);
  const Rect row = in_menu ? Rect{x, menu.y0 + ui.px(3), x + b.width(), menu.y0 + ui.px(37)}
                           : Rect{notices.x0, notices.y0, notices.x1, notices.y0 + ui.px(34)};
  ImGui::GetWindowDrawList()->AddRectFilled(row.min(), row.max(), to_u32(ui.theme.text), ui.px(8));
  // Where both find no room the way back comes first.
  if (b.width() <= row.width()) {
    ui.text(ui.fonts.control,
            {row.x0 + b.pad, row.y0 + (row.height() - font_size(ui.fonts.control)) / 2},
            ui.theme.surface, b.words);
  }
  const float right = row.x1 - ui.px(4);
  const Rect place{std::max(row.x0, right - b.button), row.y0 + ui.px(4), right, row.y1 - ui.px(4)};
  if (ui.button("vision/back", ui.tr("vision.back"), place)) ui.push(ChooseVision{Vision::kFull});
  ui.drawn.add("vision", row.min(), row.max(), false);
}

}  // namespace headlight
