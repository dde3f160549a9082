// Keys, and about.
#include <algorithm>
#include <cmath>
#include <vector>

#include "app/ui/frame/panels.h"
#include "app/ui/state/commands.h"

namespace headlight {
namespace {

void text_line(std::string_view words) {
  ImGui::TextUnformatted(words.data(), words.data() + words.size());
}

// Those that have a key, of one menu or of none.
struct KeyGroup {
  std::string_view title;
  std::vector<const CommandInfo*> commands;
};

std::vector<KeyGroup> key_groups(const Ui& ui) {
  std::vector<KeyGroup> groups;
  const auto add = [&](std::string_view title, std::string_view menu) {
    KeyGroup group{title, {}};
    for (const CommandInfo& info : all_commands()) {
      if (info.key.key != kKeyNone && info.menu == menu) group.commands.push_back(&info);
    }
    groups.push_back(std::move(group));
  };
  for (const MenuInfo& menu : all_menus()) add(ui.tr(menu.text), menu.name);
  add(ui.tr("keys.group.other"), "");
  return groups;
}

void draw_key_group(Ui& ui, const KeyGroup& group, float x) {
  ImGui::SetCursorPosX(x);
  ImGui::PushFont(ui.fonts.strong);
  text_line(group.title);
  ImGui::PopFont();
  for (const CommandInfo* info : group.commands) {
    ImGui::SetCursorPosX(x);
    ImGui::PushFont(ui.fonts.mono);
    text_line(shortcut_text(info->key));
    ImGui::PopFont();
    ImGui::SameLine(x + ui.px(118));
    text_line(command_label(ui.language, info->command));
  }
  ImGui::Dummy({1, ui.px(4)});
}

constexpr float kKeyColumn = 330;  // design pixels

// As many columns as there is room for; each group goes below the shortest.
void keys_sheet(Ui& ui) {
  ImGui::PushFont(ui.fonts.title);
  text_line(ui.tr("keys.title"));
  ImGui::PopFont();
  const float room = ImGui::GetContentRegionAvail().x / ui.px(kKeyColumn);
  const auto columns = static_cast<std::size_t>(std::clamp(std::floor(room), 1.0f, 3.0f));
  const ImVec2 at = ImGui::GetCursorPos();
  std::vector<float> ends(columns, at.y);
  for (const KeyGroup& group : key_groups(ui)) {
    const auto end = std::min_element(ends.begin(), ends.end());
    ImGui::SetCursorPosY(*end);
    draw_key_group(ui, group, at.x + static_cast<float>(end - ends.begin()) * ui.px(kKeyColumn));
    *end = ImGui::GetCursorPosY();
  }
  ImGui::SetCursorPosY(*std::max_element(ends.begin(), ends.end()));
  ImGui::Dummy({1, 1});
}

void about_sheet(Ui& ui) {
  ImGui::PushFont(ui.fonts.title);
  ImGui::TextUnformatted("Headlight " HEADLIGHT_VERSION);
  ImGui::PopFont();
  ui.paragraph(ui.tr("about.what"), std::min(ui.px(420), ImGui::GetContentRegionAvail().x));
  ImGui::Spacing();
  ui.paragraph(ui.tr("about.licence"), std::min(ui.px(420), ImGui::GetContentRegionAvail().x));
}

}  // namespace

void panel_help(const AppState& state, Ui& ui, float width, float height) {
  const auto sheet = [&](const char* id, Sheet which, ImVec2 size, auto contents) {
    const bool wanted = state.requests.open == which;
    if (!wanted && !ImGui::IsPopupOpen(id)) return;
    if (!begin_sheet(ui, id, wanted, width, height, size)) return;
    contents();
    const ImVec2 at = ImGui::GetWindowPos(), drawn = ImGui::GetWindowSize();
    ui.drawn.add(std::string("panel/") + id, at, {at.x + drawn.x, at.y + drawn.y});
    ImGui::EndPopup();
  };
  sheet("keys", Sheet::kKeys, {std::min(ui.px(1020), width - ui.px(16)), ui.px(760)},
        [&] { keys_sheet(ui); });
  sheet("about", Sheet::kAbout, {ui.px(460), ui.px(210)}, [&] { about_sheet(ui); });
}

}  // namespace headlight
