// The sheet that asks for a file or a folder: a list to click, a field to type, and why not.
#include <algorithm>
#include <cmath>

#include "app/ui/frame/panels.h"
#include "app/ui/train/panel_train.h"

namespace headlight {
namespace {

constexpr float kPathLine = 28;
constexpr std::size_t kRecentPaths = 4;

struct PathSheet {
  std::string_view id, title;
  bool saves = false;
};

// Titles of the sheets of training follow from what is learned.
PathSheet path_sheet_of(Sheet sheet) {
  switch (sheet) {
    case Sheet::kOpen:
      return {"open_path", "files.open_which"};
    case Sheet::kSave:
      return {"save_path", "files.save_where", true};
    case Sheet::kOpenModel:
      return {"open_model", "files.open_model"};
    case Sheet::kFindModel:
      return {"find_model", "files.find_model"};
    case Sheet::kTrainFolder:
      return {"train_folder", "", true};
    case Sheet::kSavePicture:
      return {"save_picture", "files.picture_where", true};
    case Sheet::kMaskFile:
      return {"mask_file", "mask.file_which"};
    case Sheet::kSaveNumbers:
      return {"save_numbers", "files.numbers_where", true};
    case Sheet::kSaveLab:
      return {"save_lab", "files.lab_where", true};
    default:
      return {"train_text", ""};
  }
}

std::string joined(const std::string& folder, const std::string& name) {
  return folder.ends_with('/') ? folder + name : folder + "/" + name;
}

// A line of a list; true when clicked.
bool path_line(Ui& ui, const std::string& id, std::string_view name, std::string_view detail,
               bool chosen, const Rect& r) {
  bool over = false;
  const bool pressed = ui.hot(id, r, &over);
  if (over || chosen)
    ImGui::GetWindowDrawList()->AddRectFilled(r.min(), r.max(), to_u32(ui.theme.selection),
                                              ui.px(6));
  const float room = r.width() - ui.px(16);
  const std::string words = to_field_text(name);
  const float named = detail.empty() ? room : room * 0.6f;
  ui.user_text(ui.fonts.control, {r.x0 + ui.px(8), r.y0 + ui.px(6)}, ui.theme.text, words, named);
  if (detail.empty()) return pressed;
  const float used = std::min(ui.measure(ui.fonts.control, words).x, named) + ui.px(12);
  ui.user_text(ui.fonts.note, {r.x0 + ui.px(8) + used, r.y0 + ui.px(8)}, ui.theme.muted,
               to_field_text(detail), room - used);
  return pressed;
}

void recent_paths(const AppState& state, Ui& ui, const Rect& r, float& y) {
  const std::vector<std::string>& recent = state.session.recent;
  if (state.session.path_sheet != Sheet::kOpen || recent.empty()) return;
  ui.text(ui.fonts.note, {r.x0 + ui.px(8), y + ui.px(6)}, ui.theme.muted, ui.tr("files.recent"));
  y += ui.px(kPathLine);
  for (std::size_t i = 0; i < std::min(recent.size(), kRecentPaths); ++i) {
    const std::size_t slash = recent[i].find_last_of('/') + 1;
    if (path_line(ui, "path/recent/" + std::to_string(i), recent[i].substr(slash),
                  recent[i].substr(0, slash), false, {r.x0, y, r.x1, y + ui.px(kPathLine)}))
      ui.push(TakePath{recent[i]});
    y += ui.px(kPathLine);
  }
  y += ui.px(6);
}

// Folders are gone into; a file is written into the field, and taken at the second click.
void file_lines(const AppState& state, Ui& ui, const Rect& r, float& y) {
  const Session& s = state.session;
  for (std::size_t i = 0; i < s.path_lines.size(); ++i) {
    const FileLine& line = s.path_lines[i];
    const Rect at{r.x0, y, r.x1, y + ui.px(kPathLine)};
    y = at.y1;
    if (at.y1 < r.y0 || at.y0 > r.y1) continue;
    const std::string label = line.folder ? line.name + "/" : line.name;
    const bool chosen = s.path_typed == line.name;
    if (!path_line(ui, "path/line/" + line.name, label, line.model ? ui.tr("model.trained") : "",
                   chosen, at))
      continue;
    if (line.folder) {
      ui.push(ListFolder{joined(s.path_folder, line.name)});
    } else {
      ui.push(TypePath{line.name});
      if (chosen) ui.push(TakePath{});
    }
  }
  if (s.path_lines.empty()) {
    ui.text(ui.fonts.note, {r.x0 + ui.px(8), y + ui.px(6)}, ui.theme.muted, ui.tr("files.empty"));
    y += ui.px(kPathLine);
  }
}

void draw_files(const AppState& state, Ui& ui, const Rect& r) {
  ImGui::GetWindowDrawList()->AddRect(r.min(), r.max(), to_u32(ui.theme.line), ui.px(6));
  ImGui::SetCursorScreenPos({r.x0 + 1, r.y0 + ui.px(3)});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  begin_child("files", {r.width() - 2, r.height() - ui.px(6)}, ImGuiWindowFlags_NoBackground);
  ImGui::PopStyleVar();
  const float top = r.y0 + ui.px(3) - ImGui::GetScrollY();
  const float width = ImGui::GetContentRegionAvail().x;
  const Rect lines{r.x0 + ui.px(4), r.y0, r.x0 + width - ui.px(4), r.y1};
  float y = top;
  recent_paths(state, ui, lines, y);
  file_lines(state, ui, lines, y);
  ImGui::SetCursorScreenPos({r.x0, y});
  ImGui::Dummy({1, 1});
  ImGui::EndChild();
}

// The listed folder, and the way up.
void draw_folder(const AppState& state, Ui& ui, const Rect& r) {
  const Rect up{r.x0, r.y0, r.x0 + ui.px(30), r.y1};
  if (ui.button("path/up", "↑", up)) ui.push(ListFolder{".."});
  ui.user_text(ui.fonts.control, {up.x1 + ui.px(10), r.y0 + ui.px(6)}, ui.theme.muted,
               to_field_text(state.session.path_folder), r.x1 - up.x1 - ui.px(12));
}

void draw_path_field(const AppState& state, Ui& ui, const Rect& r) {
  ImGui::SetCursorScreenPos(r.min());
  ImGui::SetNextItemWidth(r.width());
  ImGui::PushFont(ui.fonts.control);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding,
                      ImVec2(ui.px(10), (r.height() - font_size(ui.fonts.control)) / 2));
  // To be corrected at once, when it was not taken, by Enter as often as one likes.
  int& said = *ImGui::GetStateStorage()->GetIntRef(ImGui::GetID("##said"), 0);
  int& again = *ImGui::GetStateStorage()->GetIntRef(ImGui::GetID("##again"), 0);
  const int problem = state.session.path_problem.empty() ? 0 : 1;
  if (ImGui::IsWindowAppearing() || again > 0 || problem > said) ImGui::SetKeyboardFocusHere();
  said = problem;
  // What stood there before goes away as soon as one types; later a click sets the cursor.
  int& fresh = *ImGui::GetStateStorage()->GetIntRef(ImGui::GetID("##fresh"), 0);
  if (ImGui::IsWindowAppearing()) fresh = 1;
  const std::string before = to_field_text(state.session.path_typed);
  std::string path = before;
  ui.drawn.note(path);
  ui.before_field("path");
  const bool entered = ImGui::InputTextWithHint(
      "##path", ui.tr("files.name").data(), &path,
      ImGuiInputTextFlags_EnterReturnsTrue | (fresh ? ImGuiInputTextFlags_AutoSelectAll : 0));
  if (ImGui::IsItemActive()) fresh = 0;
  again = entered ? 1 : 0;
  ui.after_field("path");
  ImGui::PopStyleVar();
  ImGui::PopFont();
  if (path != before) ui.push(TypePath{from_field_text(path)});
  if (entered) ui.push(TakePath{});
}

void draw_path_buttons(const AppState& state, Ui& ui, const PathSheet& sheet, const Rect& r) {
  float right = r.x1;
  const auto button = [&](std::string_view id, std::string_view label, bool on) {
    const float wide = std::max(ui.px(90), ui.measure(ui.fonts.control, label).x + ui.px(32));
    const Rect at{right - wide, r.y0, right, r.y1};
    right = at.x0 - ui.px(8);
    return ui.button(id, label, at, on, !on || !state.session.path_typed.empty());
  };
  if (button("path/ok", ui.tr(sheet.saves ? "files.save" : "files.open"), true))
    ui.push(TakePath{});
  if (button("path/cancel", ui.tr("files.cancel"), false)) ui.push(ClosePath{});
}

}  // namespace

void panel_paths(const AppState& state, Ui& ui, float width, float height) {
  const Session& s = state.session;
  const bool open = s.path_sheet != Sheet::kNone;
  if (!open && !ImGui::IsPopupOpen("path_sheet")) return;
  const PathSheet sheet = path_sheet_of(s.path_sheet);
  const float pad = ui.px(18), gap = ui.px(8);
  const float wide = std::min(ui.px(600), width - ui.px(24));
  const float tall = std::min(ui.px(520), height - ui.px(24));
  const float left = std::round((width - wide) / 2), top = std::round((height - tall) / 3);
  const Rect r{left, top, left + wide, top + tall};
  if (!begin_modal(ui, "path_sheet", open, r)) return;
  const float x0 = r.x0 + pad, x1 = r.x1 - pad;
  float y = r.y0 + pad;
  const std::string title =
      sheet.title.empty() ? train_path_title(state, ui) : std::string(ui.tr(sheet.title));
  y += ui.wrapped(ui.fonts.strong, {x0, y}, x1 - x0, ui.theme.text, title) + gap;
  if (const std::string hint = train_path_hint(state, ui); !hint.empty())
    y += ui.wrapped(ui.fonts.note, {x0, y}, x1 - x0, ui.theme.muted, hint) + gap;
  draw_folder(state, ui, {x0, y, x1, y + ui.px(28)});
  y += ui.px(28) + gap;
  const std::string problem = to_field_text(say(ui.language, s.path_problem));
  const float said =
      problem.empty() ? 0 : ui.wrapped_height(ui.fonts.control, x1 - x0, problem) + gap;
  const float buttons = r.y1 - pad - ui.px(30);
  const float field = buttons - gap - said - ui.px(32);
  draw_files(state, ui, {x0, y, x1, std::max(field - gap, y + ui.px(30))});
  draw_path_field(state, ui, {x0, field, x1, field + ui.px(32)});
  if (!problem.empty())
    ui.wrapped(ui.fonts.control, {x0, field + ui.px(32) + gap}, x1 - x0, ui.theme.error, problem);
  draw_path_buttons(state, ui, sheet, {x0, buttons, x1, buttons + ui.px(30)});
  ui.drawn.add("panel/" + std::string(sheet.id), r.min(), r.max());
  ImGui::EndPopup();
}

}  // namespace headlight
