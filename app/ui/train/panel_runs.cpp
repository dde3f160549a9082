// File > Runs and models: every run and model on the disk, with what can be done with it.
#include <algorithm>
#include <array>

#include "app/ui/frame/panels.h"
#include "app/ui/kit/imgui_compat.h"
#include "app/ui/state/commands.h"
#include "app/ui/train/panel_train.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/model/folders/folder_type.h"
#include "core/model/model.h"
#include "core/train/tasks/task.h"

namespace headlight {
namespace {

constexpr float kRunRow = 52, kRunHeading = 34, kRunButton = 28;

std::string task_name(const Ui& ui, const SavedRun& run) {
  for (const TaskInfo& info : all_tasks()) {
    if (info.id == run.task) return std::string(ui.tr(info.name));
  }
  // Another program's folder has a type in the place of a task.
  for (const FolderType& type : folder_types()) {
    if (type.model_type == run.task) return run.task;
  }
  return std::string(ui.tr("train.own_text"));
}

// "Reverse · 12:30 · step 120 · loss 0.12, 98 % right · 1.2 MB"
std::string run_facts(const Ui& ui, const SavedRun& run) {
  std::vector<std::string> parts;
  if (!run.model_kind.empty() || !run.task.empty()) parts.push_back(task_name(ui, run));
  parts.push_back(run.when);
  if (run.step >= 0) parts.push_back(ui.tr("train.step_n", {{"n", count_text(run.step)}}));
  if (run.loss)
    parts.push_back(ui.tr("runs.score", {{"loss", number_text(*run.loss, 3)},
                                         {"right", number_text(100 * *run.accuracy, 3)}}));
  if (run.bytes > 0) parts.push_back(bytes_text(run.bytes));
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : " · ") + part;
  return text;
}

struct RunButton {
  std::string_view id, label;
  bool enabled = true;
  std::string help = {};
  Action action;
  bool closes = false;
};

std::vector<RunButton> buttons_of(const Ui& ui, const SavedRun& run) {
  const std::string why(ui.tr(run.in_use ? "runs.in_use" : "runs.no_resume"));
  const bool opens = run.problem.empty(), own = run.kind == SavedKind::kModel;
  if (run.kind == SavedKind::kRemoved)
    return {{"restore", "runs.restore", true, {}, RestoreRun{run.path}}};
  if (run.kind == SavedKind::kDiscarded)
    return {{"restore", "runs.restore_session", opens, {}, RestoreRun{run.path}, true}};
  return {{"open", "files.open", opens, {}, ChooseModel{run.path}, true},
          {"resume", "runs.resume", opens && run.resumable && !run.in_use,
           run.resumable && !run.in_use ? "" : why, ResumeRun{run.path}, true},
          {"rename", "runs.rename", !run.in_use, run.in_use ? why : "", AskRename{run.path}},
          {"remove", own ? "runs.forget" : "runs.remove", !run.in_use,
           run.in_use ? why : std::string(ui.tr(own ? "runs.forget.help" : "runs.remove.help")),
           AskRemove{run.path}, !own}};
}

// From the right; returns where they begin.
float row_buttons(Ui& ui, const SavedRun& run, const std::string& id, const Rect& r) {
  std::vector<RunButton> buttons = buttons_of(ui, run);
  float x = r.x1;
  for (auto button = buttons.rbegin(); button != buttons.rend(); ++button) {
    const std::string_view label = ui.tr(button->label);
    const float wide = ui.measure(ui.fonts.control, label).x + ui.px(20);
    const Rect place{x - wide, r.y0 + ui.px(10), x, r.y0 + ui.px(10 + kRunButton)};
    x -= wide + ui.px(6);
    if (!ui.button(id + "/" + std::string(button->id), label, place, false, button->enabled,
                   button->help))
      continue;
    ui.push(button->action);
    if (button->closes) ImGui::CloseCurrentPopup();
  }
  return x;
}

// Its name is typed in the place where it stands.
void name_field(const AppState& state, Ui& ui, const SavedRun& run, ImVec2 at, float width) {
  const std::string before = to_field_text(state.session.runs.name_typed);
  std::string name = before;
  ImGui::SetCursorScreenPos(at);
  ImGui::SetNextItemWidth(width);
  if (!ImGui::IsAnyItemActive()) ImGui::SetKeyboardFocusHere();
  ui.drawn.note(name);
  ui.before_field("runs/name");
  const bool entered = ImGui::InputText("##runs/name", &name, ImGuiInputTextFlags_EnterReturnsTrue);
  ui.after_field("runs/name");
  if (name != before) ui.push(TypeRunName{from_field_text(name)});
  if (entered) ui.push(RenameRun{run.path, from_field_text(name)});
}

void draw_run(const AppState& state, Ui& ui, const SavedRun& run, const std::string& id,
              const Rect& r) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float end = row_buttons(ui, run, id, r);
  const float room = std::max(end - r.x0 - ui.px(8), ui.px(40));
  if (state.session.runs.renaming == run.path) {
    name_field(state, ui, run, {r.x0, r.y0 + ui.px(4)}, room);
  } else {
    ui.user_text(ui.fonts.strong, {r.x0, r.y0 + ui.px(7)}, ui.theme.text, to_field_text(run.name),
                 room);
  }
  const bool whole = run.problem.empty();
  const std::string words = whole ? run_facts(ui, run) : say(ui.language, run.problem);
  ui.user_text(ui.fonts.note, {r.x0, r.y0 + ui.px(28)}, whole ? ui.theme.muted : ui.theme.error,
               to_field_text(words), room);
  const Rect words_at{r.x0, r.y0, r.x0 + room, r.y1 - ui.px(4)};
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if (ImGui::IsWindowHovered() && words_at.contains(mouse))
    ui.tooltip(to_field_text(run.path) + (whole ? "" : "\n" + to_field_text(words)));
  list->AddLine({r.x0, r.y1}, {r.x1, r.y1}, to_u32(ui.theme.line));
}

constexpr std::array<std::string_view, 4> kRunHeadings = {"runs.of_windows", "runs.of_models",
                                                          "runs.of_removed", "runs.of_discarded"};

void list_runs(const AppState& state, Ui& ui, float width) {
  const std::vector<SavedRun>& runs = state.runs.runs;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  float y = at.y;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i == 0 || runs[i].kind != runs[i - 1].kind) {
      const std::string_view heading = kRunHeadings[static_cast<std::size_t>(runs[i].kind)];
      ui.text(ui.fonts.note, {at.x, y + ui.px(12)}, ui.theme.muted, ui.tr(heading), width);
      y += ui.px(kRunHeading);
    }
    draw_run(state, ui, runs[i], "runs/" + std::to_string(i),
             {at.x, y, at.x + width, y + ui.px(kRunRow)});
    y += ui.px(kRunRow);
  }
  ImGui::SetCursorScreenPos({at.x, y});
  ImGui::Dummy({1, ui.px(4)});
}

}  // namespace

void panel_runs(const AppState& state, Ui& ui, float width, float height) {
  const bool wanted = state.requests.open == Sheet::kRuns;
  if (!wanted && !ImGui::IsPopupOpen("runs")) return;
  const ImVec2 size{std::min(ui.px(820), width * 0.9f), std::min(ui.px(560), height * 0.8f)};
  if (!begin_sheet(ui, "runs", wanted, width, height, size)) return;
  ImGui::PushFont(ui.fonts.strong);
  ImGui::TextUnformatted(std::string(ui.tr("runs.title")).c_str());
  ImGui::PopFont();
  const bool empty = state.runs.runs.empty();
  const std::string about = ui.tr(empty && state.runs.reading ? "runs.reading"
                                  : empty                     ? "runs.none"
                                                              : "runs.about",
                                  {{"folder", to_field_text(state.runs.folder)}});
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float inside = size.x - ui.px(30);
  const float tall = ui.wrapped(ui.fonts.note, at, inside, ui.theme.muted, about);
  ImGui::SetCursorScreenPos({at.x, at.y + tall + ui.px(4)});
  begin_child("runs_list", {inside, std::max(size.y - tall - ui.px(64), ui.px(40))},
              ImGuiWindowFlags_NoBackground);
  list_runs(state, ui, inside - ui.px(16));
  ImGui::EndChild();
  const ImVec2 corner = ImGui::GetWindowPos(), drawn = ImGui::GetWindowSize();
  ui.drawn.add("panel/runs", corner, {corner.x + drawn.x, corner.y + drawn.y});
  ImGui::EndPopup();
}

}  // namespace headlight
