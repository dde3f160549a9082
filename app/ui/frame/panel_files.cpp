// Files: recent sessions, and the questions before work is lost.
#include <algorithm>
#include <array>

#include "app/ui/frame/panels.h"
#include "app/ui/kit/line_text.h"
#include "app/ui/state/commands.h"
#include "core/base/utf8.h"

namespace headlight {

bool begin_sheet(Ui& ui, const char* id, bool wanted, float width, float height, ImVec2 sheet) {
  if (wanted) ImGui::OpenPopup(id);
  const float margin = ui.px(20);
  ImGui::SetNextWindowPos({std::max((width - sheet.x) / 2, std::min(margin, width / 20)),
                           std::max(margin, (height - sheet.y) / 3)});
  ImGui::SetNextWindowSize(
      {std::min(sheet.x, width * 0.9f), std::min(sheet.y, std::max(height - 2 * margin, margin))});
  return ImGui::BeginPopup(id);
}

Rect sheet_close(Ui& ui, std::string_view id, const Rect& r) {
  const Rect close{r.x1 - ui.px(24), r.y0 + ui.px(2), r.x1 + ui.px(4), r.y0 + ui.px(30)};
  bool over = false;
  if (ui.hot(id, close, &over)) ImGui::CloseCurrentPopup();
  if (over) ui.tooltip(ui.tr("compute.close"));
  const ImU32 ink = to_u32(over ? ui.theme.text : ui.theme.muted);
  const ImVec2 c{(close.x0 + close.x1) / 2, (close.y0 + close.y1) / 2};
  const float a = ui.px(5);
  ImGui::GetWindowDrawList()->AddLine({c.x - a, c.y - a}, {c.x + a, c.y + a}, ink, ui.px(1.5f));
  ImGui::GetWindowDrawList()->AddLine({c.x - a, c.y + a}, {c.x + a, c.y - a}, ink, ui.px(1.5f));
  return close;
}

bool begin_modal(Ui& ui, const char* id, bool open, const Rect& r) {
  if (open && !ImGui::IsPopupOpen(id)) ImGui::OpenPopup(id);
  if (!open && !ImGui::IsPopupOpen(id)) return false;
  ImGui::SetNextWindowPos(r.min());
  ImGui::SetNextWindowSize({r.width(), r.height()});
  const int flags = ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize |
                    ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                    ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, ui.px(8));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1);
  const bool shown = ImGui::BeginPopupModal(id, nullptr, flags);
  ImGui::PopStyleVar(3);
  if (!shown) return false;
  if (open) return true;
  ImGui::CloseCurrentPopup();
  ImGui::EndPopup();
  return false;
}

namespace {

std::string file_name(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string folder_name(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

constexpr std::size_t kRecentInMenu = 5;

// ---- questions ----

// A button without a label is not there.
struct Wording {
  std::string title, text;
  std::array<std::string, 3> buttons;
  std::array<std::string, 3> keys = {};
};

// The end of the window, while there is a run that is saved on the way.
std::string leave_words(const AppState& state, const Ui& ui, const Question& q) {
  const std::string_view text = q.leaving == Leaving::kQuit  ? "ask.leave.quit"
                                : q.leaving == Leaving::kNew ? "ask.leave.new"
                                                             : "ask.leave.open";
  std::string words = ui.tr(text, {{"file", to_field_text(file_name(q.leaving_path))}});
  const bool learned = state.train.run.status.step > 0 || !state.train.earlier.empty();
  if (q.leaving == Leaving::kQuit && learned && state.train.not_safe.empty())
    words += "\n" + std::string(ui.tr("ask.leave.runs"));
  return words;
}

Wording words_of(const AppState& state, const Ui& ui) {
  const Question& q = state.session.question;
  const std::string own = state.session_path.empty() ? std::string(ui.tr("files.untitled"))
                                                     : file_name(state.session_path);
  const auto say = [&](std::string_view id) { return std::string(ui.tr(id)); };
  const Slot file{"file", to_field_text(file_name(q.path))};
  const Slot folder{"folder", to_field_text(folder_name(q.path))};
  switch (q.asking) {
    case Asking::kOverwrite:
      return {ui.tr(q.known ? "ask.changed" : "ask.exists", {file}),
              ui.tr(q.known ? "ask.changed.text" : "ask.exists.text", {file, folder}),
              {say("ask.save_as"), say("ask.overwrite"), say("ask.cancel")}};
    case Asking::kRecover: {
      const std::string of = q.path.empty() ? own : file_name(q.path);
      return {say("ask.recover"),
              ui.tr(q.sentence.empty() ? "ask.recover.empty" : "ask.recover.text",
                    {{"sentence", to_field_text(q.sentence)},
                     {"file", to_field_text(of)},
                     {"when", q.when}}),
              {say("ask.recover.yes"), say("ask.discard"), say("ask.later")}};
    }
    case Asking::kFind:
      return {say("ask.find"),
              ui.tr(q.path.empty() ? "ask.find.run" : "ask.find.text", {file, folder}),
              {say("ask.find.yes"), say("ask.find.random"), say("ask.cancel")}};
    case Asking::kChanged:
      return {say("ask.weights_changed"),
              ui.tr("ask.weights_changed.text", {file, folder}),
              {say("ask.find.yes"), "", say("ask.use_them")}};
    case Asking::kNotKept:
      return {say("ask.not_kept"),
              ui.tr("ask.not_kept.text",
                    {{"problem", to_field_text(headlight::say(ui.language, q.problem))}}),
              {say("ask.not_kept.elsewhere"), say("ask.not_kept.quit"), say("ask.cancel")}};
    case Asking::kRemove:
      return {ui.tr("ask.remove", {file}),
              ui.tr("ask.remove.text", {folder}),
              {say("runs.remove"), "", say("ask.cancel")}};
    default:
      return {state.session_path.empty() ? say("ask.leave.untitled")
                                         : ui.tr("ask.leave", {{"file", to_field_text(own)}}),
              leave_words(state, ui, q),
              {say("ask.save"), say("ask.dont_save"), say("ask.cancel")}};
  }
}

Wording wording(const AppState& state, const Ui& ui) {
  Wording words = words_of(state, ui);
  words.keys = {"Enter", shortcut_text(second_answer(state.session.question.asking)), "Esc"};
  return words;
}

constexpr std::array<std::string_view, 3> kButtonIds = {"question/first", "question/second",
                                                        "question/cancel"};

float button_width(const Ui& ui, const Wording& words, std::size_t i) {
  if (words.buttons[i].empty()) return 0;
  return ui.measure(ui.fonts.control, words.buttons[i]).x +
         ui.measure(ui.fonts.note, words.keys[i]).x + ui.px(38);
}

// The label, and its key in small letters behind it.
bool question_button(Ui& ui, const Wording& words, std::size_t i, const Rect& r) {
  const bool pressed = ui.button(kButtonIds[i], "", r, i == 0);
  const float middle = (r.y0 + r.y1) / 2;
  const float label = ui.measure(ui.fonts.control, words.buttons[i]).x;
  const Color ink = i == 0 ? ui.theme.surface : ui.theme.text;
  ui.text(ui.fonts.control, {r.x0 + ui.px(14), middle - ui.px(8)}, ink, words.buttons[i],
          r.width() - ui.px(14));
  ui.text(ui.fonts.note, {r.x0 + ui.px(24) + label, middle - ui.px(6.5f)}, faded(ink, 0.62f),
          words.keys[i]);
  return pressed;
}

// Buttons stand in a row, or below each other where the sheet is narrow.
void question_sheet(const AppState& state, Ui& ui, float width, float height) {
  const bool open = state.session.question.asking != Asking::kNothing;
  if (!open && !ImGui::IsPopupOpen("question")) return;
  const Wording words = wording(state, ui);
  const float pad = ui.px(22), gap = ui.px(8), tall = ui.px(34);
  const float sheet_width = std::min(ui.px(500), width - ui.px(24));
  const float inside = sheet_width - 2 * pad;
  float row = 0;
  int count = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    if (words.buttons[i].empty()) continue;
    row += button_width(ui, words, i) + (i > 0 ? gap : 0);
    ++count;
  }
  const bool stacked = row > inside;
  const auto lines = static_cast<float>(stacked ? count : 1);
  const float title = ui.wrapped_height(ui.fonts.strong, inside, words.title);
  const float text = ui.wrapped_height(ui.fonts.body, inside, words.text);
  const float sheet_height =
      pad + title + ui.px(8) + text + ui.px(18) + lines * tall + (lines - 1) * gap + pad;
  const float left = std::max(0.0f, (width - sheet_width) / 2);
  const float top = std::max(0.0f, (height - sheet_height) / 3);
  if (!begin_modal(ui, "question", open, {left, top, left + sheet_width, top + sheet_height}))
    return;
  ImVec2 at{left + pad, top + pad};
  ui.wrapped(ui.fonts.strong, at, inside, ui.theme.text, words.title);
  at.y += title + ui.px(8);
  ui.wrapped(ui.fonts.body, at, inside, ui.theme.text, words.text);
  at.y += text + ui.px(18);
  for (std::size_t i = 0; i < 3; ++i) {
    if (words.buttons[i].empty()) continue;
    const float w = stacked ? inside : button_width(ui, words, i);
    if (question_button(ui, words, i, {at.x, at.y, at.x + w, at.y + tall})) {
      ui.push(AnswerQuestion{static_cast<Answer>(i)});
    }
    at = stacked ? ImVec2(at.x, at.y + tall + gap) : ImVec2(at.x + w + gap, at.y);
  }
  ui.drawn.add("panel/question", {left, top}, {left + sheet_width, top + sheet_height});
  ImGui::EndPopup();
}

}  // namespace

void menu_recent(const AppState& state, Ui& ui) {
  const std::vector<std::string>& recent = state.session.recent;
  for (std::size_t i = 0; i < std::min(recent.size(), kRecentInMenu); ++i) {
    // A long name would make the menu wider than a small window.
    const std::string name = to_line_text(shortened(file_name(recent[i]), 40));
    const std::string label = ui.tr("files.recent_item", {{"file", name}});
    if (ui.menu_item("menu/recent/" + std::to_string(i), label)) ui.push(OpenFile{recent[i]});
    if (ImGui::IsItemHovered()) ui.tooltip(to_line_text(recent[i]));
  }
}

void panel_files(const AppState& state, Ui& ui, float width, float height) {
  question_sheet(state, ui, width, height);
}

}  // namespace headlight
