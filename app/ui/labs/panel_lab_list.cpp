// The list of labs.
#include <algorithm>

#include "app/ui/frame/panels.h"
#include "app/ui/labs/labs_view.h"
#include "app/ui/state/commands.h"
#include "core/lab/lab_files.h"

namespace headlight {
namespace {

// Drawn without a font's help: the fonts may lack it.
void tick(Ui& ui, ImVec2 middle, Color color) {
  const ImVec2 points[] = {{middle.x - ui.px(4), middle.y},
                           {middle.x - ui.px(1), middle.y + ui.px(3)},
                           {middle.x + ui.px(5), middle.y - ui.px(4)}};
  ImGui::GetWindowDrawList()->AddPolyline(points, 3, to_u32(color), 0, ui.px(1.6f));
}

bool is_answered(const AppState& state, const Lab& lab) {
  return state.session.labs.answered.contains(lab.id);
}

// Returns where it ends.
float lab_line(const AppState& state, Ui& ui, const Lab& lab, const Rect& panel, float y) {
  const bool current = lab.id == shown_lab(state.document()).id;
  const std::string_view title = lab_words(ui, lab, "title");
  const float x = panel.x0 + ui.px(22), right = panel.x1 - ui.px(34);
  ImFont* font = current ? ui.fonts.strong : ui.fonts.control;
  const float high = std::max(ui.px(16), ui.wrapped_height(font, right - x, title));
  const Rect line{panel.x0 + ui.px(8), y, panel.x1 - ui.px(8), y + high + ui.px(12)};
  bool over = false;
  if (ui.hot("lab/list/" + std::string(lab.id), line, &over)) ui.push(ShowLab{std::string(lab.id)});
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (current || over)
    list->AddRectFilled(line.min(), line.max(), to_u32(ui.theme.selection), ui.px(6));
  if (current)
    list->AddRectFilled({panel.x0, line.y0}, {panel.x0 + ui.px(3), line.y1}, to_u32(ui.theme.text));
  ui.wrapped(font, {x, y + ui.px(6)}, right - x, ui.theme.text, title);
  if (is_answered(state, lab))
    tick(ui, {line.x1 - ui.px(13), (line.y0 + line.y1) / 2}, ui.theme.muted);
  if (over) ui.tooltip(lab_words(ui, lab, "question"));
  return line.y1 + ui.px(1);
}

// The button that folds the panel.
void fold_button(Ui& ui, const Rect& r) {
  const Rect fold{r.x1 - ui.px(38), r.y0 + ui.px(7), r.x1 - ui.px(10), r.y0 + ui.px(31)};
  bool over = false;
  if (ui.hot("view/rail", fold, &over)) ui.push(DoCommand{Command::kToggleRail});
  ui.text(ui.fonts.control, {fold.x0 + ui.px(10), fold.y0 + ui.px(3)},
          over ? ui.theme.text : ui.theme.muted, "«");
  if (over) ui.tooltip(ui.tr("panel.fold"));
}

}  // namespace

std::string_view lab_words(const Ui& ui, const Lab& lab, std::string_view rest) {
  return lab_text(ui.language, lab, rest);
}

void panel_lab_list(const AppState& state, Ui& ui, const Rect& r) {
  ui.begin_panel("rail", r, true);
  // Groups in the order in which they come first.
  std::vector<std::string_view> groups;
  std::size_t answered = 0;
  for (const Lab& lab : all_labs()) {
    if (std::ranges::find(groups, lab.group) == groups.end()) groups.push_back(lab.group);
    answered += is_answered(state, lab) ? 1 : 0;
  }
  const float scroll = ImGui::GetScrollY();
  float y = r.y0 + ui.px(10) - scroll;
  fold_button(ui, {r.x0, r.y0 - scroll, r.x1, r.y1});
  for (const std::string_view group : groups) {
    ui.text(ui.fonts.note, {r.x0 + ui.px(16), y + ui.px(2)}, ui.theme.muted,
            ui.tr("lab.group." + std::string(group)), r.width() - ui.px(56));
    y += ui.px(22);
    for (const Lab& lab : all_labs()) {
      if (lab.group == group) y = lab_line(state, ui, lab, r, y);
    }
    y += ui.px(10);
  }
  ui.text(ui.fonts.note, {r.x0 + ui.px(16), y}, ui.theme.muted,
          ui.tr("lab.answered",
                {{"n", std::to_string(answered)}, {"all", std::to_string(all_labs().size())}}),
          r.width() - ui.px(24));
  ImGui::SetCursorScreenPos({r.x0, y + ui.px(26)});
  ImGui::Dummy({1, 1});
  ui.end_panel();
}

}  // namespace headlight
