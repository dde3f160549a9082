// The top of the window: menus, notices, the sentence.
#include <algorithm>
#include <array>
#include <cfloat>

#include "app/ui/compute/compute_view.h"
#include "app/ui/frame/panels.h"
#include "app/ui/kit/line_text.h"
#include "app/ui/state/commands.h"
#include "core/base/number_text.h"

namespace headlight {
namespace {

// The word that begins a menu's ids: its label is the text "menu.file".
struct Menu {
  const char* name;
  std::string_view text;
};
constexpr std::array<Menu, 6> kMenus = {{{"File", "menu.file"},
                                         {"Edit", "menu.edit"},
                                         {"Go", "menu.go"},
                                         {"View", "menu.view"},
                                         {"Train", "menu.train"},
                                         {"Help", "menu.help"}}};

void menu_popup(const AppState& state, Ui& ui, std::string_view menu) {
  for (const CommandInfo& info : all_commands()) {
    if (info.menu != menu) continue;
    if (ui.menu_item("menu/" + std::string(info.id), command_label(ui.language, info.command),
                     shortcut_text(info.key), false, is_enabled(info.command, state))) {
      ui.push(DoCommand{info.command});
    }
    if (info.command == Command::kOpen) menu_recent(state, ui);
  }
}

void menu_bar(const AppState& state, Ui& ui, const Rect& r, float& x) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float middle = (r.y0 + r.y1) / 2;
  for (const Menu& menu : kMenus) {
    const std::string_view label = ui.tr(menu.text);
    const float width = ui.measure(ui.fonts.control, label).x + ui.px(24);
    bool over = false;
    const std::string id = "menu/" + std::string(menu.name);
    if (ui.hot(id, {x, r.y0 + ui.px(5), x + width, r.y1 - ui.px(5)}, &over, true, FocusKind::kMenu))
      ImGui::OpenPopup(menu.name);
    if (over) {
      list->AddRectFilled({x, r.y0 + ui.px(5)}, {x + width, r.y1 - ui.px(5)},
                          to_u32(ui.theme.selection), ui.px(6));
    }
    ui.text(ui.fonts.control, {x + ui.px(12), middle - ui.px(8)},
            over ? ui.theme.text : ui.theme.muted, label);
    ImGui::SetNextWindowPos({x, r.y1});
    const float room = ImGui::GetIO().DisplaySize.y - r.y1 - ui.px(4);
    ImGui::SetNextWindowSizeConstraints({0, 0}, {FLT_MAX, std::max(room, ui.px(40))});
    if (ImGui::BeginPopup(menu.name)) {
      menu_popup(state, ui, menu.name);
      ImGui::EndPopup();
    }
    x += width;
  }
}

// "EN / 中": both are shown, so that whoever cannot read one finds the other.
Rect language_switch(Ui& ui, const Rect& r) {
  ImFont* font = ui.fonts.control;
  const bool chinese_drawn = font->FindGlyphNoFallback(0x4E2D) != nullptr;
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

}  // namespace

void panel_menu(const AppState& state, Ui& ui, const Rect& r) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(r.min(), r.max(), to_u32(ui.theme.surface));
  list->AddLine({r.x0, r.y1}, {r.x1, r.y1}, to_u32(ui.theme.line));
  const float middle = (r.y0 + r.y1) / 2;
  const bool narrow = r.width() < ui.px(560);  // the menus come first
  if (!narrow)
    ui.text(ui.fonts.strong, {r.x0 + ui.px(20), middle - ui.px(8)}, ui.theme.text, "Headlight");
  float x = r.x0 + ui.px(narrow ? 4 : 110);
  menu_bar(state, ui, r, x);
  const Rect language = language_switch(ui, r);
  const Rect theme_button{language.x0 - ui.px(38), r.y0 + ui.px(6), language.x0 - ui.px(2),
                          r.y1 - ui.px(6)};
  bool over = false;
  if (ui.hot("view/theme", theme_button, &over)) ui.push(DoCommand{Command::kToggleTheme});
  if (over) ui.tooltip(command_hint(ui.language, Command::kToggleTheme));
  const ImVec2 c = {(theme_button.x0 + theme_button.x1) / 2, middle};
  list->AddCircle(c, ui.px(7), to_u32(ui.theme.muted), 0, ui.px(1.5f));
  list->PathArcTo(c, ui.px(7), 1.5708f, 4.7124f, 16);
  list->PathFillConvex(to_u32(ui.theme.muted));
  const float begin = compute_switch(state, ui, r, x + ui.px(8), theme_button.x0 - ui.px(12));
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

namespace {

float notice_height(const Ui& ui, const Notice& notice, float width) {
  return ui.wrapped_height(ui.fonts.control, width - ui.px(90), to_field_text(notice.text)) +
         ui.px(16);
}

}  // namespace

float notices_height(const AppState& state, const Ui& ui, float width) {
  float height = 0;
  for (const Notice& notice : state.notices) height += notice_height(ui, notice, width) + ui.px(6);
  return height;
}

void panel_notices(const AppState& state, Ui& ui, const Rect& r) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  float y = r.y0;
  for (std::size_t i = 0; i < state.notices.size(); ++i) {
    const Notice& notice = state.notices[i];
    const Rect line{r.x0, y, r.x1, y + notice_height(ui, notice, r.width())};
    const Color edge = notice.kind == NoticeKind::kError     ? ui.theme.error
                       : notice.kind == NoticeKind::kWarning ? ui.theme.k
                                                             : ui.theme.q;
    list->AddRectFilled(line.min(), line.max(), to_u32(ui.theme.surface), ui.px(6));
    list->AddRect(line.min(), line.max(), to_u32(edge), ui.px(6));
    list->AddRectFilled(line.min(), {line.x0 + ui.px(5), line.y1}, to_u32(edge), ui.px(6),
                        ImDrawFlags_RoundCornersLeft);
    ui.wrapped(ui.fonts.control, {line.x0 + ui.px(18), line.y0 + ui.px(8)}, r.width() - ui.px(90),
               ui.theme.text, to_field_text(notice.text));
    const Rect close{line.x1 - ui.px(34), line.y0, line.x1, line.y0 + ui.px(34)};
    if (ui.hot("notice/" + std::to_string(i) + "/close", close)) ui.push(DismissNotice{i});
    const ImVec2 c = {(close.x0 + close.x1) / 2, (close.y0 + close.y1) / 2};
    const float a = ui.px(4);
    list->AddLine({c.x - a, c.y - a}, {c.x + a, c.y + a}, to_u32(ui.theme.muted), ui.px(1.5f));
    list->AddLine({c.x - a, c.y + a}, {c.x + a, c.y - a}, to_u32(ui.theme.muted), ui.px(1.5f));
    y = line.y1 + ui.px(6);
  }
}

namespace {

// An active field keeps a text of its own; after an undo it has to be told the new one.
struct Refresh {
  const std::string* text;
  bool wanted;
};

int refresh_field(ImGuiInputTextCallbackData* data) {
  const auto& refresh = *static_cast<const Refresh*>(data->UserData);
  if (refresh.wanted &&
      *refresh.text != std::string_view(data->Buf, static_cast<std::size_t>(data->BufTextLen))) {
    data->DeleteChars(0, data->BufTextLen);
    data->InsertChars(0, refresh.text->data(), refresh.text->data() + refresh.text->size());
  }
  return 0;
}

}  // namespace

void panel_sentence(const AppState& state, Ui& ui, const Rect& r) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(r.min(), r.max(), to_u32(ui.theme.surface), ui.px(8));
  std::string count;
  if (state.derived.cut) {
    const long long shown = state.derived.trace ? state.derived.trace->length() : 0;
    const auto all = static_cast<long long>(state.derived.tokens_in_sentence);
    count = ui.tr("sentence.cut", {{"shown", count_text(shown)}, {"all", count_text(all)}});
  } else {
    count = tr_count(ui.language, "count.tokens",
                     static_cast<long long>(state.derived.tokens_in_sentence));
  }
  if (r.width() < ui.px(280)) count.clear();  // the sentence comes first
  const float count_width = ui.measure(ui.fonts.note, count).x;

  ImGui::PushFont(ui.fonts.sentence);
  ImGui::PushStyleColor(ImGuiCol_FrameBg, ImVec4(0, 0, 0, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_FrameBorderSize, 0);
  const float pad = (r.height() - ui.fonts.sentence->FontSize) / 2;
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(ui.px(16), pad));
  ImGui::SetCursorScreenPos(r.min());
  ImGui::SetNextItemWidth(r.width() - count_width - ui.px(32));
  if (state.requests.focus_sentence) ImGui::SetKeyboardFocusHere();
  ui.before_field("sentence");
  // ImGui keeps the text being typed itself; this copy only carries it in and out.
  std::string text = to_line_text(state.document().sentence);
  const std::string shown = text;
  int& revision = *ImGui::GetStateStorage()->GetIntRef(ImGui::GetID("##revision"), 0);
  Refresh refresh{&shown, revision != state.session.text_revision};
  revision = state.session.text_revision;
  const bool changed =
      ImGui::InputTextWithHint("##sentence", ui.tr("sentence.hint").data(), &text,
                               ImGuiInputTextFlags_CallbackAlways, refresh_field, &refresh);
  if (changed && text != shown) ui.push(DoEdit{SetSentence{from_field_text(text)}, "sentence"});
  const bool active = ImGui::IsItemActive();
  if (ImGui::IsItemDeactivated()) ui.push(EndEdit{});
  ui.after_field("sentence");
  ImGui::PopStyleVar(2);
  ImGui::PopStyleColor();
  ImGui::PopFont();
  list->AddRect(r.min(), r.max(), to_u32(active ? ui.theme.text : ui.theme.line), ui.px(8), 0,
                active ? ui.px(1.5f) : 1);
  ui.drawn.add("sentence", r.min(), {r.x1 - count_width - ui.px(32), r.y1});
  ui.text(ui.fonts.note, {r.x1 - ui.px(16) - count_width, (r.y0 + r.y1) / 2 - ui.px(7)},
          state.derived.cut ? ui.theme.k : ui.theme.muted, count);
}

}  // namespace headlight
