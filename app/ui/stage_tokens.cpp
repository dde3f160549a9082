// The page of the tokens: chips with their ids.
#include <algorithm>

#include "app/ui/stage_view.h"

namespace headlight {

// Tokens as chips, with their ids; a click marks padding while that mask is chosen.
void draw_tokens(const AppState& state, Ui& ui, const Rect& area) {
  const Trace& trace = *state.derived.trace;
  const MaskSpec& mask = state.document().config.mask;
  const bool padding = mask.kind == MaskKind::kPadding;
  ImGui::SetCursorScreenPos(area.min());
  begin_child("tokens", {area.width(), area.height()}, ImGuiWindowFlags_NoBackground);
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float height = ui.px(46), top = area.y0 - ImGui::GetScrollY();
  float x = area.x0, y = top + ui.px(6);
  for (std::int64_t t = 0; t < trace.length(); ++t) {
    const std::string label = token_label(trace.tick("position", t));
    const std::string id = std::to_string(trace.input().ids[static_cast<std::size_t>(t)]);
    const float room = ui.px(220);
    const float width =
        std::clamp(ui.measure(ui.fonts.sentence, label).x + ui.px(24), ui.px(44), room + ui.px(24));
    if (x + width > area.x1) {
      x = area.x0;
      y += height + ui.px(10);
    }
    const Rect chip{x, y, x + width, y + height};
    const bool is_padding = padding && std::binary_search(mask.padding.begin(), mask.padding.end(),
                                                          static_cast<int>(t));
    if (chip.y1 > area.y0 && chip.y0 < area.y1) {
      bool over = false;
      if (ui.hot("token/" + std::to_string(t), chip, &over)) {
        if (padding) {
          MaskSpec next = mask;
          if (is_padding) {
            std::erase(next.padding, static_cast<int>(t));
          } else {
            next.padding.push_back(static_cast<int>(t));
          }
          ui.push(DoEdit{SetMask{next}, ""});
        } else {
          ui.push(PickCell{{"token_ids", {0, t}}});
        }
      }
      list->AddRectFilled(chip.min(), chip.max(),
                          to_u32(over ? ui.theme.selection : ui.theme.surface), ui.px(6));
      list->AddRect(chip.min(), chip.max(), to_u32(is_padding ? ui.theme.k : ui.theme.line),
                    ui.px(6), 0, is_padding ? ui.px(2) : 1);
      ui.user_text(ui.fonts.sentence, {x + ui.px(12), y + ui.px(4)},
                   is_padding ? ui.theme.muted : ui.theme.text, label, room);
      ui.text(ui.fonts.mono_small, {x + ui.px(12), y + ui.px(28)}, ui.theme.muted,
              is_padding ? id + " pad" : id);
      if (over) {
        ui.tooltip("token " + std::to_string(t) + ", id " + id +
                   (padding ? ". Click to mark it as padding or take the mark away" : ""));
      }
    }
    x += width + ui.px(8);
  }
  ImGui::SetCursorScreenPos({area.x0, y + height + ui.px(8)});
  ImGui::Dummy({1, 1});
  ImGui::EndChild();
}

}  // namespace headlight
