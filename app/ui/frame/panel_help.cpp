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
  float lines() const { return static_cast<float>(commands.size()) + 2; }
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

// As many columns as there is room for, of about one height, each read downwards.
void keys_sheet(Ui& ui) {
  ImGui::PushFont(ui.fonts.title);
  text_line(ui.tr("keys.title"));
  ImGui::PopFont();
  const std::vector<KeyGroup> groups = key_groups(ui);
  float all = 0, used = 0;
  for (const KeyGroup& group : groups) all += group.lines();
  const float columns =
      std::clamp(std::floor(ImGui::GetContentRegionAvail().x / ui.px(kKeyColumn)), 1.0f, 3.0f);
  ImVec2 at = ImGui::GetCursorPos();
  const float top = at.y;
  float lowest = top;
  for (const KeyGroup& group : groups) {
    if (used > 0 && used + group.lines() / 2 > all / columns) {
      at.x += ui.px(kKeyColumn);
      ImGui::SetCursorPosY(top);
      used = 0;
    }
    draw_key_group(ui, group, at.x);
    used += group.lines();
    lowest = std::max(lowest, ImGui::GetCursorPosY());
  }
  ImGui::SetCursorPosY(lowest);
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
