// Keys, about, and the two questions for a file's path.
#include <algorithm>

#include "app/ui/commands.h"
#include "app/ui/panels.h"

namespace headlight {
namespace {

// A sheet in the middle of the window; `wanted` opens it once. False while it is not open.
bool begin_sheet(Ui& ui, const char* id, bool wanted, float width, float height, ImVec2 sheet) {
  if (wanted) {
    ImGui::OpenPopup(id);
    ui.push(ClosePopups{});
  }
  ImGui::SetNextWindowPos({(width - sheet.x) / 2, std::max(ui.px(20), (height - sheet.y) / 3)});
  ImGui::SetNextWindowSize({sheet.x, std::min(sheet.y, height - ui.px(40))});
  return ImGui::BeginPopup(id);
}

void keys_sheet(Ui& ui) {
  ImGui::PushFont(ui.fonts.title);
  ImGui::TextUnformatted("Keys");
  ImGui::PopFont();
  for (const CommandInfo& info : all_commands()) {
    if (info.key.key == kKeyNone) continue;
    ImGui::PushFont(ui.fonts.mono);
    ImGui::TextUnformatted(shortcut_text(info.key).c_str());
    ImGui::PopFont();
    ImGui::SameLine(ui.px(130));
    const std::string label(info.label);
    ImGui::TextUnformatted(label.c_str());
  }
}

void about_sheet(Ui& ui) {
  ImGui::PushFont(ui.fonts.title);
  ImGui::TextUnformatted("Headlight " HEADLIGHT_VERSION);
  ImGui::PopFont();
  ImGui::PushTextWrapPos(ui.px(420));
  ImGui::TextUnformatted(
      "Type a sentence and see every number of a transformer's attention come into being. Every "
      "number on the "
      "screen is the model's own and can be asked where it came from.");
  ImGui::Spacing();
  ImGui::TextUnformatted("MIT licence. Drawn with Dear ImGui, computed with Eigen.");
  ImGui::PopTextWrapPos();
}

void path_sheet(const AppState& state, Ui& ui, bool opens) {
  ImGui::PushFont(ui.fonts.strong);
  ImGui::TextUnformatted(opens ? "Open which session file?" : "Save the session as");
  ImGui::PopFont();
  const std::string before = to_field_text(state.session.path_typed);
  std::string path = before;
  ImGui::SetNextItemWidth(ui.px(480));
  if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere();
  ui.before_field("path");
  const bool entered = ImGui::InputTextWithHint("##path", "/path/to/name.headlight.json", &path,
                                                ImGuiInputTextFlags_EnterReturnsTrue);
  ui.after_field("path");
  if (path != before) ui.push(TypePath{from_field_text(path)});
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const Rect go{at.x, at.y + ui.px(4), at.x + ui.px(90), at.y + ui.px(34)};
  const bool pressed = ui.button("path/ok", opens ? "Open" : "Save", go, true);
  if ((entered || pressed) && !path.empty()) {
    if (opens) {
      ui.push(OpenFile{from_field_text(path)});
    } else {
      ui.push(SaveFile{from_field_text(path)});
    }
    ImGui::CloseCurrentPopup();
  }
}

}  // namespace

void panel_help(const AppState& state, Ui& ui, float width, float height) {
  const Session& s = state.session;
  const auto sheet = [&](const char* id, bool wanted, ImVec2 size, auto contents) {
    if (!wanted && !ImGui::IsPopupOpen(id)) return;
    if (!begin_sheet(ui, id, wanted, width, height, size)) return;
    contents();
    const ImVec2 at = ImGui::GetWindowPos(), drawn = ImGui::GetWindowSize();
    ui.probe.add(std::string("panel/") + id, at, {at.x + drawn.x, at.y + drawn.y});
    ImGui::EndPopup();
  };
  sheet("keys", s.keys_open, {ui.px(420), ui.px(800)}, [&] { keys_sheet(ui); });
  sheet("about", s.about_open, {ui.px(460), ui.px(210)}, [&] { about_sheet(ui); });
  sheet("open_path", s.ask_path_to_open, {ui.px(510), ui.px(140)},
        [&] { path_sheet(state, ui, true); });
  sheet("save_path", s.ask_path_to_save, {ui.px(510), ui.px(140)},
        [&] { path_sheet(state, ui, false); });
}

}  // namespace headlight
