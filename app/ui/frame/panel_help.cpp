// Keys, and about.
#include <algorithm>
#include <vector>

#include "app/ui/frame/panels.h"
#include "app/ui/state/commands.h"

namespace headlight {
namespace {

void text_line(std::string_view words) {
  ImGui::TextUnformatted(words.data(), words.data() + words.size());
}

void keys_sheet(Ui& ui) {
  ImGui::PushFont(ui.fonts.title);
  text_line(ui.tr("keys.title"));
  ImGui::PopFont();
  std::vector<const CommandInfo*> keyed;
  for (const CommandInfo& info : all_commands()) {
    if (info.key.key != kKeyNone) keyed.push_back(&info);
  }
  // Two columns, each read downwards.
  const std::size_t rows = (keyed.size() + 1) / 2;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = row; i < keyed.size(); i += rows) {
      const float x = i == row ? 0 : ui.px(360);
      if (x > 0) ImGui::SameLine(ui.px(12) + x);
      ImGui::PushFont(ui.fonts.mono);
      text_line(shortcut_text(keyed[i]->key));
      ImGui::PopFont();
      ImGui::SameLine(ui.px(12 + 118) + x);
      text_line(command_label(ui.language, keyed[i]->command));
    }
  }
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
  sheet("keys", Sheet::kKeys, {std::min(ui.px(740), width - ui.px(16)), ui.px(640)},
        [&] { keys_sheet(ui); });
  sheet("about", Sheet::kAbout, {ui.px(460), ui.px(210)}, [&] { about_sheet(ui); });
}

}  // namespace headlight
