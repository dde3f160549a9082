// The command palette: a field, and the commands, recent files and steps that fit it.
#include <algorithm>
#include <cmath>

#include "app/ui/frame/palette.h"
#include "app/ui/frame/panels.h"
#include "core/base/utf8.h"

namespace headlight {
namespace {

constexpr float kLine = 32, kField = 48;

// Which letters and lines there are, and how far the list is scrolled.
struct List {
  const std::vector<PaletteLine>& lines;
  int choice = 0;
  Rect r;
};

void draw_line(Ui& ui, const PaletteLine& line, bool chosen, const Rect& r) {
  if (chosen) {
    ImGui::GetWindowDrawList()->AddRectFilled({r.x0 + ui.px(6), r.y0}, {r.x1 - ui.px(6), r.y1},
                                              to_u32(ui.theme.selection), ui.px(6));
  }
  const Color ink = line.enabled ? ui.theme.text : faded(ui.theme.muted, 0.6f);
  const std::string detail = to_field_text(line.detail);
  const float inside = r.width() - ui.px(36);
  const float detail_room = std::min(ui.measure(ui.fonts.note, detail).x + 1, inside * 0.45f);
  const float y = (r.y0 + r.y1) / 2;
  ui.user_text(ui.fonts.control, {r.x0 + ui.px(18), y - ui.px(8)}, ink, to_field_text(line.label),
               inside - detail_room - ui.px(12));
  ui.user_text(ui.fonts.note, {r.x1 - ui.px(18) - detail_room, y - ui.px(7)},
               line.enabled ? ui.theme.muted : ink, detail, detail_room);
}

void draw_list(Ui& ui, const List& list) {
  ImGui::SetCursorScreenPos(list.r.min());
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  begin_child("lines", {list.r.width(), list.r.height()}, ImGuiWindowFlags_NoBackground);
  ImGui::PopStyleVar();
  const float tall = ui.px(kLine);
  // The chosen line stays in sight when it moves; the wheel is free to leave it.
  int& last = *ImGui::GetStateStorage()->GetIntRef(ImGui::GetID("##choice"), -1);
  const float from = static_cast<float>(list.choice) * tall;
  if (last != list.choice) {
    if (from < ImGui::GetScrollY()) ImGui::SetScrollY(from);
    if (from + tall > ImGui::GetScrollY() + list.r.height())
      ImGui::SetScrollY(from + tall - list.r.height());
  }
  last = list.choice;
  const float width = ImGui::GetContentRegionAvail().x;
  const float top = list.r.y0 - ImGui::GetScrollY();
  const auto first = static_cast<std::size_t>(std::max(0.0f, ImGui::GetScrollY() / tall));
  const ImVec2 moved = ImGui::GetIO().MouseDelta;
  for (std::size_t i = first; i < list.lines.size(); ++i) {
    const float y = std::round(top + static_cast<float>(i) * tall);
    if (y >= list.r.y1) break;
    const Rect r{list.r.x0, y, list.r.x0 + width, y + tall};
    bool over = false;
    const auto number = static_cast<int>(i);
    const bool pressed = ui.hot("palette/" + list.lines[i].id, r, &over, list.lines[i].enabled);
    const bool points = over && (moved.x != 0 || moved.y != 0);
    if ((points || pressed) && number != list.choice) ui.push(ChooseInPalette{number});
    if (pressed) ui.push(RunInPalette{});
    draw_line(ui, list.lines[i], number == list.choice, r);
  }
  ImGui::SetCursorScreenPos({list.r.x0, top + static_cast<float>(list.lines.size()) * tall});
  ImGui::Dummy({0, 0});
  ImGui::EndChild();
}

void draw_field(const AppState& state, Ui& ui, const Rect& r) {
  ImGui::PushFont(ui.fonts.sentence);
  ImGui::PushStyleColor(ImGuiCol_FrameBg, ImVec4(0, 0, 0, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, 0);
  const float pad = (r.height() - font_size(ui.fonts.sentence)) / 2;
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(ui.px(18), pad));
  ImGui::SetCursorScreenPos(r.min());
  ImGui::SetNextItemWidth(r.width());
  if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere();
  const std::string before = to_field_text(state.session.palette_typed);
  std::string typed = before;
  const std::string hint(ui.tr("palette.hint"));
  ui.drawn.note(typed);
  ui.before_field("palette");
  ImGui::InputTextWithHint("##query", hint.c_str(), &typed);
  ui.after_field("palette");
  if (typed != before) ui.push(TypeQuery{from_field_text(typed)});
  ImGui::PopStyleVar(2);
  ImGui::PopStyleColor();
  ImGui::PopFont();
}

}  // namespace

void panel_palette(const AppState& state, Ui& ui, float width, float height) {
  const bool open = state.session.palette_open;
  if (!open && !ImGui::IsPopupOpen("palette_sheet")) return;
  const std::vector<PaletteLine> lines = palette_lines(state);
  const float sheet_width = std::min(ui.px(580), width - ui.px(24));
  const float top = std::min(ui.px(64), height * 0.1f);
  const float room = height - top - ui.px(12) - ui.px(kField + 14);
  const float shown = std::clamp(static_cast<float>(lines.size()), 1.0f, 12.0f);
  const float list_height = std::max(ui.px(kLine), std::min(shown * ui.px(kLine), room));
  const float left = (width - sheet_width) / 2;
  const Rect r{left, top, left + sheet_width, top + ui.px(kField + 14) + list_height};
  if (!begin_modal(ui, "palette_sheet", open, r)) return;
  draw_field(state, ui, {r.x0, r.y0, r.x1, r.y0 + ui.px(kField)});
  const float line = r.y0 + ui.px(kField);
  ImGui::GetWindowDrawList()->AddLine({r.x0, line}, {r.x1, line}, to_u32(ui.theme.line));
  if (lines.empty()) {
    ui.text(ui.fonts.control, {r.x0 + ui.px(18), line + ui.px(14)}, ui.theme.muted,
            to_field_text(
                ui.tr("palette.nothing", {{"what", shortened(state.session.palette_typed, 24)}})),
            r.width() - ui.px(36));
  } else {
    const Rect list{r.x0 + 1, line + ui.px(7), r.x1 - 1, r.y1 - ui.px(7)};
    draw_list(ui, {lines, state.session.palette_choice, list});
  }
  ui.drawn.add("panel/palette", r.min(), r.max());
  // A click beside it closes it.
  const bool beside = ImGui::IsMouseClicked(0) && !ImGui::IsWindowAppearing() &&
                      !r.contains(ImGui::GetIO().MousePos);
  if (beside) ui.push(ClosePalette{});
  ImGui::EndPopup();
}

}  // namespace headlight
