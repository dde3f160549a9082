// The inspector: one number's arithmetic, the step as code, the step in words.
#include <algorithm>
#include <cmath>

#include "app/ui/frame/panels.h"
#include "app/ui/inspector/inspector.h"
#include "app/ui/state/commands.h"

namespace headlight {
namespace {

struct Tab {
  InspectorTab tab;
  Command command;
  std::string_view id, text;
};
constexpr Tab kTabs[] = {
    {InspectorTab::kNumbers, Command::kTabNumbers, "inspector/numbers", "inspector.tab.numbers"},
    {InspectorTab::kCode, Command::kTabCode, "inspector/code", "inspector.tab.code"},
    {InspectorTab::kWords, Command::kTabWords, "inspector/words", "inspector.tab.words"}};

// The tabs stand over the whole width, the chosen one underlined. Returns the height.
float draw_tabs(const AppState& state, Ui& ui, const Rect& r) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float height = ui.px(42);
  const Rect fold{r.x1 - ui.px(44), r.y0 + ui.px(6), r.x1 - ui.px(12), r.y0 + ui.px(36)};
  list->AddLine({r.x0, r.y0 + height}, {r.x1, r.y0 + height}, to_u32(ui.theme.line));
  float x = r.x0 + ui.px(20);
  for (const Tab& t : kTabs) {
    const std::string_view label = ui.tr(t.text);
    const bool on = state.session.inspector_tab == t.tab;
    ImFont* font = on ? ui.fonts.strong : ui.fonts.control;
    const float width = ui.measure(ui.fonts.strong, label).x;
    bool over = false;
    if (ui.hot(t.id, {x - ui.px(8), r.y0 + ui.px(4), x + width + ui.px(8), r.y0 + height}, &over)) {
      ui.push(ChooseTab{t.tab});
    }
    ui.text(font, {x, r.y0 + ui.px(14)}, on || over ? ui.theme.text : ui.theme.muted, label,
            fold.x0 - x);
    if (on) {
      list->AddLine({x, r.y0 + height}, {x + width, r.y0 + height}, to_u32(ui.theme.text),
                    ui.px(2));
    }
    if (over) {
      const CommandInfo& info = command_info(t.command);
      ui.tooltip(std::string(ui.tr(std::string(t.text) + ".help")) + "  " +
                 shortcut_text(info.key));
    }
    x += width + ui.px(24);
  }
  if (ui.hot("view/inspector", fold)) ui.push(DoCommand{Command::kToggleInspector});
  ui.text(ui.fonts.control, {fold.x0 + ui.px(12), r.y0 + ui.px(13)}, ui.theme.muted, "»");
  return height;
}

// What can be copied of this tab, at the bottom. Returns the height.
float draw_copy_buttons(const AppState& state, Ui& ui, const Rect& r) {
  struct Copy {
    std::string_view id, label;
    Command command;
  };
  static constexpr Copy kNumbers[] = {{"copy/text", "inspector.copy_text", Command::kCopyText},
                                      {"copy/latex", "inspector.copy_latex", Command::kCopyLatex},
                                      {"copy/table", "inspector.copy_table", Command::kCopyTable}};
  if (state.session.inspector_tab == InspectorTab::kWords) return 0;
  const float height = ui.px(52), top = r.y1 - height;
  ImGui::GetWindowDrawList()->AddLine({r.x0, top}, {r.x1, top}, to_u32(ui.theme.line));
  float x = r.x0 + ui.px(20);
  const auto button = [&](std::string_view id, std::string_view label, std::string_view help) {
    const float width = ui.measure(ui.fonts.control, label).x + ui.px(24);
    const Rect at{x, top + ui.px(11), x + width, top + ui.px(41)};
    x += width + ui.px(8);
    const bool copied = state.session.copied_by == id;
    return ui.button(id, copied ? "\u2713" : label, at, false, state.derived.inspected != nullptr,
                     copied ? ui.tr("inspector.copied") : help);
  };
  if (state.session.inspector_tab == InspectorTab::kCode) {
    if (button("copy/code", ui.tr("inspector.copy_code"), "") && state.derived.inspected) {
      const Inspected& now = *state.derived.inspected;
      const bool kernel = state.session.kernel && now.kernel;
      ui.push(CopyText{kernel ? kernel_text(*now.kernel) : now.code.text, "copy/code"});
    }
    return height;
  }
  for (const Copy& copy : kNumbers) {
    const std::string help = std::string(ui.tr(std::string(copy.label) + ".help")) + "  " +
                             shortcut_text(command_info(copy.command).key);
    if (button(copy.id, ui.tr(copy.label), help)) ui.push(DoCommand{copy.command});
  }
  return height;
}

// A line that is cut in half at the edge reads as going on below.
void fade_out(const Ui& ui, const Rect& r) {
  const ImU32 ground = to_u32(ui.theme.surface), clear = to_u32(faded(ui.theme.surface, 0));
  ImGui::GetWindowDrawList()->AddRectFilledMultiColor({r.x0, r.y1 - ui.px(28)}, {r.x1, r.y1}, clear,
                                                      clear, ground, ground);
}

// Returns the tensor that the words name under the mouse.
std::string draw_contents(const AppState& state, Ui& ui, const Rect& r) {
  ImGui::SetCursorScreenPos(r.min());
  ui.drawn.add("panel/inspector_contents", r.min(), r.max());
  begin_child("inspector_contents", {r.width(), r.height()}, ImGuiWindowFlags_NoBackground);
  const Trace& trace = *state.derived.trace;
  const float y = r.y0 - ImGui::GetScrollY() + ui.px(16);
  InspectorColumn c{state, ui, trace, r.x0 + ui.px(19), y, r.x1 - ui.px(20), r.y0, r.y1};
  std::string lit;
  const Inspected* now = state.derived.inspected.get();
  const bool current = now && now->serial == trace.serial();
  if (state.session.inspector_tab == InspectorTab::kWords) {
    lit = inspector_words(c);
  } else if (!current) {
    c.y += ui.wrapped(ui.fonts.body, {c.x, c.y}, c.width(), ui.theme.muted,
                      ui.tr("inspector.nothing"));
  } else if (state.session.inspector_tab == InspectorTab::kCode) {
    inspector_code(c, *now);
  } else {
    inspector_numbers(c, *now);
  }
  ImGui::SetCursorScreenPos({c.x, c.y + ui.px(16)});
  ImGui::Dummy({1, 1});
  if (ImGui::GetScrollY() < ImGui::GetScrollMaxY() - 1) fade_out(ui, r);
  ImGui::EndChild();
  return lit;
}

}  // namespace

void panel_inspector(const AppState& state, Ui& ui, const Rect& r, bool open) {
  ui.begin_panel("inspector", r);
  std::string lit;
  if (!open) {
    if (ui.hot("view/inspector", r)) ui.push(DoCommand{Command::kToggleInspector});
    ui.text(ui.fonts.control, {r.x0 + ui.px(10), r.y0 + ui.px(10)}, ui.theme.muted, "«");
  } else {
    const float top = r.y0 + draw_tabs(state, ui, r) + 1;
    if (state.derived.trace && !state.derived.empty) {
      const float bottom = r.y1 - draw_copy_buttons(state, ui, r) - 1;
      lit = draw_contents(state, ui, {r.x0 + 1, top, r.x1 - 1, bottom});
    }
  }
  if (lit != state.session.lit_tensor) ui.push(LightTensor{lit});
  ui.end_panel();
}

}  // namespace headlight
