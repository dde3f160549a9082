// The sheets of training: where a text to learn from is, where a model is to be kept.
#include <algorithm>

#include "app/ui/panel_train.h"
#include "app/ui/panels.h"

namespace headlight {
namespace {

// A title, a path to type, a button. True when one was entered.
bool path_sheet(const AppState& state, Ui& ui, std::string_view title, std::string_view button,
                float width) {
  ImGui::PushFont(ui.fonts.strong);
  ImGui::TextUnformatted(std::string(title).c_str());
  ImGui::PopFont();
  const std::string before = to_field_text(state.session.path_typed);
  std::string path = before;
  ImGui::SetNextItemWidth(width);
  if (ImGui::IsWindowAppearing()) ImGui::SetKeyboardFocusHere();
  ui.before_field("path");
  const bool entered = ImGui::InputText("##path", &path, ImGuiInputTextFlags_EnterReturnsTrue);
  ui.after_field("path");
  if (path != before) ui.push(TypePath{from_field_text(path)});
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float wide = std::max(ui.px(90), ui.measure(ui.fonts.control, button).x + ui.px(32));
  const Rect go{at.x, at.y + ui.px(4), at.x + wide, at.y + ui.px(34)};
  const bool pressed = ui.button("path/ok", button, go, true);
  return (entered || pressed) && !path.empty();
}

}  // namespace

void sheets_train(const AppState& state, Ui& ui, float width, float height) {
  const TrainSession& session = state.session.train;
  const auto sheet = [&](const char* id, bool wanted, std::string_view title,
                         std::string_view button, auto done) {
    if (!wanted && !ImGui::IsPopupOpen(id)) return;
    const float inside = std::min(ui.px(480), width * 0.9f - ui.px(30));
    if (!begin_sheet(ui, id, wanted, width, height, {inside + ui.px(30), ui.px(140)})) return;
    if (path_sheet(state, ui, ui.tr(title), ui.tr(button), inside)) {
      done(state.session.path_typed);
      ImGui::CloseCurrentPopup();
    }
    const ImVec2 at = ImGui::GetWindowPos(), drawn = ImGui::GetWindowSize();
    ui.probe.add(std::string("panel/") + id, at, {at.x + drawn.x, at.y + drawn.y});
    ImGui::EndPopup();
  };
  sheet("train_folder", session.ask_folder, "train.keep_where", "files.save",
        [&](const std::string& path) { ui.push(KeepRun{path}); });
  sheet("train_text", session.ask_text, "train.text_which", "files.open",
        [&](const std::string& path) { ui.push(UseText{path}); });
}

}  // namespace headlight
