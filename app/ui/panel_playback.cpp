// The bar under the stage: which step is shown, and how far its making has been played.
#include <algorithm>
#include <cmath>

#include "app/ui/commands.h"
#include "app/ui/panels.h"

namespace headlight {

void panel_playback(const AppState& state, Ui& ui, const Rect& r) {
  const Step& step = *current_step(state);
  const Program& program = state.derived.trace->program();
  ImGui::GetWindowDrawList()->AddLine({r.x0, r.y0}, {r.x1, r.y0}, to_u32(ui.theme.line));
  const float side = ui.px(28), y = (r.y0 + r.y1 - side) / 2;
  float x = r.x0 + ui.px(20);
  const auto arrow = [&](std::string_view id, std::string_view label, Command command) {
    if (ui.button(id, label, {x, y, x + ui.px(36), y + side}, false, is_enabled(command, state),
                  std::string(command_info(command).help) + "  " +
                      shortcut_text(command_info(command).key))) {
      ui.push(DoCommand{command});
    }
    x += ui.px(42);
  };
  arrow("step/previous", "←", Command::kPreviousStep);
  arrow("step/next", "→", Command::kNextStep);
  const auto index = static_cast<int>(&step - program.steps.data());
  const auto count = static_cast<int>(program.steps.size());
  const std::string words = "step " + std::to_string(index + 1) + " of " + std::to_string(count);
  const float words_width = ui.measure(ui.fonts.control, words).x;
  ui.text(ui.fonts.control, {r.x1 - ui.px(24) - words_width, (r.y0 + r.y1) / 2 - ui.px(8)},
          ui.theme.muted, words);
  const Rect track{x + ui.px(10), r.y0, r.x1 - words_width - ui.px(44), r.y1};
  const float middle = (r.y0 + r.y1) / 2;
  const float knob =
      track.x0 +
      track.width() * (count > 1 ? static_cast<float>(index) / static_cast<float>(count - 1) : 0);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled({track.x0, middle - ui.px(1.5f)}, {track.x1, middle + ui.px(1.5f)},
                      to_u32(ui.theme.line), ui.px(2));
  list->AddRectFilled({track.x0, middle - ui.px(1.5f)}, {knob, middle + ui.px(1.5f)},
                      to_u32(ui.theme.text), ui.px(2));
  list->AddCircleFilled({knob, middle}, ui.px(6), to_u32(ui.theme.text));
  ui.hot("step/track", track);
  if (ImGui::IsItemActive()) {
    const float t = std::clamp((ImGui::GetIO().MousePos.x - track.x0) / track.width(), 0.0f, 1.0f);
    const int target = static_cast<int>(std::lround(t * static_cast<float>(count - 1)));
    const auto& wanted = program.steps[static_cast<std::size_t>(target)];
    if (target != index)
      ui.push(GoToStep{program.tensors[static_cast<std::size_t>(wanted.tensor)].name});
  }
}

}  // namespace headlight
