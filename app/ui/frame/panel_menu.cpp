// The top bar: the modes as tabs, the menus, what goes on in the background, who computes, language
// and colours.
#include <algorithm>
#include <array>
#include <cfloat>

#include "app/ui/compute/compute_view.h"
#include "app/ui/frame/panels.h"
#include "app/ui/state/commands.h"
#include "core/base/number_text.h"

namespace headlight {
namespace {

// ---- modes ----

struct ModeTab {
  std::string_view id, text;
  Mode mode{};
  Command hint{};  // whose help it has
};
constexpr std::array<ModeTab, 3> kModes = {
    {{"mode/steps", "mode.steps", Mode::kSteps, Command::kTrain},
     {"mode/train", "mode.train", Mode::kTrain, Command::kTrain},
     {"mode/labs", "mode.labs", Mode::kLabs, Command::kLabs}}};

float mode_width(const Ui& ui, const ModeTab& mode) {
  return ui.measure(ui.fonts.control, ui.tr(mode.text)).x + ui.px(22);
}

// All modes in a tray; where it is too wide the others than the shown one, where that is too wide
// nothing. Moves `x` behind it.
void mode_tabs(const AppState& state, Ui& ui, const Rect& r, float& x, float room) {
  const Mode shown = state.session.mode;
  float all = ui.px(6), others = ui.px(6);
  for (const ModeTab& mode : kModes) {
    all += mode_width(ui, mode);
    if (mode.mode != shown) others += mode_width(ui, mode);
  }
  const bool whole = all <= room;
  if (!whole && others > room) return;
  const float middle = std::round((r.y0 + r.y1) / 2), high = ui.px(14);
  const Rect tray{x, middle - high, x + (whole ? all : others), middle + high};
  ImGui::GetWindowDrawList()->AddRectFilled(tray.min(), tray.max(), to_u32(ui.theme.selection),
                                            ui.px(7));
  float at = x + ui.px(3);
  for (const ModeTab& mode : kModes) {
    const bool on = mode.mode == shown;
    if (on && !whole) continue;
    const Rect tab{at, tray.y0 + ui.px(2), at + mode_width(ui, mode), tray.y1 - ui.px(2)};
    at = tab.x1;
    bool over = false;
    if (ui.hot(mode.id, tab, &over) && !on) ui.push(ShowMode{mode.mode});
    if (on)
      ImGui::GetWindowDrawList()->AddRectFilled(tab.min(), tab.max(), to_u32(ui.theme.text),
                                                ui.px(5));
    const Color ink = on ? ui.theme.surface : over ? ui.theme.text : ui.theme.muted;
    const float y = middle - ui.px(8);
    ui.text(ui.fonts.control, {tab.x0 + ui.px(11), y}, ink, ui.tr(mode.text));
    if (over) ui.tooltip(command_hint(ui.language, mode.hint));
  }
  x = tray.x1 + ui.px(10);
}

// ---- menus ----

// On both sides of a menu's title.
float menu_pad(const Ui& ui, const Rect& r) { return ui.px(r.width() < ui.px(360) ? 5 : 12); }

float menu_width(const Ui& ui, const Rect& r, const MenuInfo& menu) {
  return ui.measure(ui.fonts.control, ui.tr(menu.text)).x + 2 * menu_pad(ui, r);
}

void menu_popup(const AppState& state, Ui& ui, const MenuInfo& menu) {
  int section = menu.commands.empty() ? 0 : menu.commands.front()->place / 10;
  for (const CommandInfo* info : menu.commands) {
    if (info->place / 10 != section) ImGui::Separator();
    section = info->place / 10;
    if (ui.menu_item("menu/" + std::string(info->id), command_label(ui.language, info->command),
                     shortcut_text(info->key), is_on(info->command, state).value_or(false),
                     is_enabled(info->command, state)))
      ui.push(DoCommand{info->command});
    if (info->command == Command::kOpen) menu_recent(state, ui);
  }
}

// A menu that is open gives way to the one whose title the mouse is on; what lies under a popup is
// hovered by nothing, so the mouse is asked for its place.
bool takes_over(const AppState& state, const MenuInfo& menu, const Rect& title) {
  const std::string& open = state.session.menu;
  if (state.requests.open_menu == menu.name) return true;
  const ImGuiIO& io = ImGui::GetIO();
  const bool moved = io.MouseDelta.x != 0 || io.MouseDelta.y != 0;
  return !open.empty() && open != menu.name && moved && title.contains(io.MousePos);
}

void menu_bar(const AppState& state, Ui& ui, const Rect& r, float& x) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float middle = (r.y0 + r.y1) / 2;
  std::string_view open;
  for (const MenuInfo& menu : all_menus()) {
    const Rect title{x, r.y0 + ui.px(5), x + menu_width(ui, r, menu), r.y1 - ui.px(5)};
    bool over = false;
    const std::string id = "menu/" + std::string(menu.name);
    const bool pressed = ui.hot(id, title, &over, true, FocusKind::kMenu);
    if (pressed || takes_over(state, menu, title)) ImGui::OpenPopup(menu.name.data());
    const bool lit = over || state.session.menu == menu.name;
    if (lit) list->AddRectFilled(title.min(), title.max(), to_u32(ui.theme.selection), ui.px(6));
    ui.text(ui.fonts.control, {x + menu_pad(ui, r), middle - ui.px(8)},
            lit ? ui.theme.text : ui.theme.muted, ui.tr(menu.text));
    ImGui::SetNextWindowPos({x, r.y1});
    const float room = ImGui::GetIO().DisplaySize.y - r.y1 - ui.px(4);
    ImGui::SetNextWindowSizeConstraints({0, 0}, {FLT_MAX, std::max(room, ui.px(40))});
    if (ImGui::BeginPopup(menu.name.data())) {
      open = menu.name;
      menu_popup(state, ui, menu);
      ImGui::EndPopup();
    }
    x = title.x1;
  }
  if (open != state.session.menu) ui.push(MenuShown{std::string(open)});
}

// ---- training in the background ----

// Seen from the other modes: that a run goes on, how far it is, a button that pauses it, and a
// click on the words goes there. Returns where it begins.
float training_chip(const AppState& state, Ui& ui, const Rect& r, float left, float right) {
  const TrainStatus& status = state.train.run.status;
  const bool running = status.phase == TrainPhase::kRunning;
  const bool paused = status.phase == TrainPhase::kPaused && status.step > 0;
  if (state.session.mode == Mode::kTrain || !(running || paused)) return right;
  const std::string step = count_text(status.step);
  const float middle = std::round((r.y0 + r.y1) / 2), side = ui.px(22);
  std::string words = ui.tr(running ? "top.training" : "top.training_paused", {{"n", step}});
  const auto width = [&] { return ui.measure(ui.fonts.note, words).x + ui.px(22) + side; };
  if (right - width() < left) words = step;
  if (right - width() < left) return right;
  const Rect chip{right - width(), middle - ui.px(11), right, middle + ui.px(11)};
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(chip.min(), chip.max(), to_u32(ui.theme.selection), ui.px(11));
  bool over = false, over_button = false;
  const Rect button{chip.x1 - side, chip.y0, chip.x1, chip.y1};
  if (ui.hot("top/training", {chip.x0, chip.y0, button.x0, chip.y1}, &over))
    ui.push(DoCommand{Command::kTrain});
  ui.text(ui.fonts.note, {chip.x0 + ui.px(12), middle - ui.px(7)},
          over ? ui.theme.text : ui.theme.pattern, words);
  if (ui.hot("top/training/play", button, &over_button)) ui.push(PlayRun{!running});
  const ImU32 ink = to_u32(over_button ? ui.theme.text : ui.theme.muted);
  const float cx = std::round((button.x0 + button.x1) / 2) - ui.px(2), h = ui.px(5);
  if (running) {
    for (const float dx : {-3.0f, 2.0f})
      list->AddRectFilled({cx + ui.px(dx), middle - h}, {cx + ui.px(dx + 2), middle + h}, ink);
  } else {
    list->AddTriangleFilled({cx - h * 0.6f, middle - h}, {cx + h, middle},
                            {cx - h * 0.6f, middle + h}, ink);
  }
  const bool shown = state.document().model == kRunRef;
  if (over) ui.tooltip(ui.tr(running && shown ? "top.training.shown" : "top.training.help"));
  if (over_button) ui.tooltip(command_label(ui.language, Command::kTrainPlay));
  return chip.x0;
}

// ---- language and colours ----

// "EN / 中": both are shown, so that whoever cannot read one finds the other.
Rect language_switch(Ui& ui, const Rect& r) {
  ImFont* font = ui.fonts.control;
  const bool chinese_drawn = find_own_glyph(font, 0x4E2D) != nullptr;
  const std::string_view english = "EN", chinese = chinese_drawn ? "中" : "ZH", between = " / ";
  const float middle = (r.y0 + r.y1) / 2;
  const float english_width = ui.measure(font, english).x;
  const float width =
      english_width + ui.measure(font, between).x + ui.measure(font, chinese).x + ui.px(16);
  const Rect box{r.x1 - ui.px(12) - width, r.y0 + ui.px(6), r.x1 - ui.px(12), r.y1 - ui.px(6)};
  bool over = false;
  const bool in_english = ui.language == Language::kEnglish;
  if (ui.hot("top/language", box, &over))
    ui.push(ChooseLanguage{in_english ? Language::kChinese : Language::kEnglish});
  if (over) {
    ImGui::GetWindowDrawList()->AddRectFilled(box.min(), box.max(), to_u32(ui.theme.selection),
                                              ui.px(6));
    ui.tooltip(command_hint(ui.language, Command::kToggleLanguage));
  }
  float x = box.x0 + ui.px(8);
  const float y = middle - ui.px(8);
  ui.text(font, {x, y}, in_english ? ui.theme.text : ui.theme.muted, english);
  x += english_width;
  ui.text(font, {x, y}, ui.theme.muted, between);
  x += ui.measure(font, between).x;
  ui.text(font, {x, y}, in_english ? ui.theme.muted : ui.theme.text, chinese);
  return box;
}

// A disc half dark, left of `right`, where there is room behind the menus: they have it, too.
// Returns where it begins.
float theme_switch(Ui& ui, const Rect& r, float left, float right) {
  const Rect button{right - ui.px(38), r.y0 + ui.px(6), right - ui.px(2), r.y1 - ui.px(6)};
  if (button.x0 < left) return right;
  bool over = false;
  if (ui.hot("view/theme", button, &over)) ui.push(DoCommand{Command::kToggleTheme});
  if (over) ui.tooltip(command_hint(ui.language, Command::kToggleTheme));
  const ImVec2 c = {(button.x0 + button.x1) / 2, (r.y0 + r.y1) / 2};
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddCircle(c, ui.px(7), to_u32(ui.theme.muted), 0, ui.px(1.5f));
  list->PathArcTo(c, ui.px(7), 1.5708f, 4.7124f, 16);
  list->PathFillConvex(to_u32(ui.theme.muted));
  return button.x0;
}

}  // namespace

void panel_menu(const AppState& state, Ui& ui, const Rect& r) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(r.min(), r.max(), to_u32(ui.theme.surface));
  list->AddLine({r.x0, r.y1}, {r.x1, r.y1}, to_u32(ui.theme.line));
  const float middle = (r.y0 + r.y1) / 2;
  const bool narrow = r.width() < ui.px(720);  // the menus come first
  if (!narrow)
    ui.text(ui.fonts.strong, {r.x0 + ui.px(20), middle - ui.px(8)}, ui.theme.text, "Headlight");
  float x = r.x0 + ui.px(narrow ? 6 : 110);
  float menus = 0;
  for (const MenuInfo& menu : all_menus()) menus += menu_width(ui, r, menu);
  mode_tabs(state, ui, r, x, r.x1 - x - menus - ui.px(124));
  menu_bar(state, ui, r, x);
  const Rect language = language_switch(ui, r);
  const float end = theme_switch(ui, r, x, language.x0) - ui.px(12);
  const float chip = training_chip(state, ui, r, x + ui.px(8), end);
  const float begin =
      compute_switch(state, ui, r, x + ui.px(8), chip < end ? chip - ui.px(10) : end);
  const std::string path = state.session_path.empty() ? "" : state.session_path;
  const std::string file = (state.history.is_saved() ? "" : "• ") +
                           (path.empty() ? std::string(ui.tr("top.not_saved"))
                                         : path.substr(path.find_last_of('/') + 1));
  const float room = begin - x - ui.px(32);
  if (room > ui.px(80)) {
    const float file_width = std::min(room, ui.measure(ui.fonts.note, to_field_text(file)).x);
    ui.user_text(ui.fonts.note, {begin - ui.px(16) - file_width, middle - ui.px(7)}, ui.theme.muted,
                 to_field_text(file), room);
  }
}

}  // namespace headlight
