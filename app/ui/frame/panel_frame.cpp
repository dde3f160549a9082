#include "app/ui/frame/panel_frame.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/ui/state/commands.h"

namespace headlight {
namespace {

struct PanelName {
  std::string_view id, panel, text;
  Command toggle;
};

// By mode.
constexpr std::array<std::string_view, 3> kRailNames = {"panel.rail", "train.title", "mode.labs"},
                                          kInspectorNames = {"panel.inspector", "train.samples",
                                                             "lab.predict"};

PanelName name_of(PanelId id, Mode mode) {
  const auto m = static_cast<std::size_t>(mode);
  switch (id) {
    case PanelId::kRail:
      return {"view/rail", "panel/rail", kRailNames[m], Command::kToggleRail};
    case PanelId::kHeads:
      return {"view/heads", "panel/heads", "panel.heads", Command::kToggleHeads};
    default:
      return {"view/inspector", "panel/inspector", kInspectorNames[m], Command::kToggleInspector};
  }
}

// Turns what was drawn since `first` by a quarter to the right, and moves its corner to `to`.
void turn_right(ImDrawList* list, int first, ImVec2 from, ImVec2 to) {
  for (int i = first; i < list->VtxBuffer.Size; ++i) {
    ImVec2& p = list->VtxBuffer[i].pos;
    p = {to.x - (p.y - from.y), to.y + (p.x - from.x)};
  }
}

}  // namespace

void panel_tab(Ui& ui, PanelId id, const Rect& r, Mode mode) {
  const PanelName name = name_of(id, mode);
  ImDrawList* list = ImGui::GetWindowDrawList();
  bool over = false;
  if (ui.hot(name.id, r, &over)) ui.push(DoCommand{name.toggle});
  ui.drawn.add(name.panel, r.min(), r.max());
  list->AddRectFilled(r.min(), r.max(), to_u32(over ? ui.theme.selection : ui.theme.surface),
                      ui.px(8));
  list->AddRect(r.min(), r.max(), to_u32(ui.theme.line), ui.px(8));
  const std::string words =
      std::string(ui.tr(name.text)) + "  " + shortcut_text(command_info(name.toggle).key);
  const std::string_view text = ui.tr(name.text);
  const bool upright = r.width() > r.height();
  const float room = (upright ? r.width() : r.height()) - ui.px(16);
  ImFont* font = ui.fonts.control;
  const ImVec2 size = ui.measure(font, text);
  const Color ink = over ? ui.theme.text : ui.theme.muted;
  if (upright) {
    ui.text(font, {r.x0 + ui.px(14), (r.y0 + r.y1 - size.y) / 2}, ink, text, room);
  } else if (size.x <= room) {
    // From top to bottom, the tops of the letters to the right.
    const int first = list->VtxBuffer.Size;
    const ImVec2 at{std::round((r.x0 + r.x1 + size.y) / 2), std::round(r.y0 + ui.px(12))};
    // Drawn in the middle of the window first: letters outside it would be left out.
    const ImVec2 from{std::round((ImGui::GetIO().DisplaySize.x - size.x) / 2), at.y};
    ui.text(font, from, ink, text, room);
    turn_right(list, first, from, at);
  } else {
    const ImVec2 c{(r.x0 + r.x1) / 2, (r.y0 + r.y1) / 2};
    for (const float dy : {-6.0f, 0.0f, 6.0f})
      list->AddCircleFilled({c.x, c.y + ui.px(dy)}, ui.px(1.5f), to_u32(ink));
  }
  if (over) ui.tooltip(words);
}

void maximize_button(const AppState& state, Ui& ui, PanelId id, const Rect& r) {
  const bool whole = state.session.maximized == id;
  const std::string_view panel = id == PanelId::kStage       ? "stage"
                                 : id == PanelId::kHeads     ? "heads"
                                 : id == PanelId::kInspector ? "inspector"
                                                             : "rail";
  bool over = false;
  if (ui.hot("maximize/" + std::string(panel), r, &over))
    ui.push(Maximize{whole ? PanelId::kNone : id});
  ImDrawList* list = ImGui::GetWindowDrawList();
  const ImU32 ink = to_u32(over ? ui.theme.text : ui.theme.muted);
  const ImVec2 c{std::round((r.x0 + r.x1) / 2), std::round((r.y0 + r.y1) / 2)};
  const float far = ui.px(5), near = ui.px(1.5f), thick = ui.px(1.3f);
  // Two corners that point outwards; inwards when there is a way back.
  for (const float side : {-1.0f, 1.0f}) {
    const float tip = side * (whole ? near : far), end = side * (whole ? far : near);
    list->AddLine({c.x + tip, c.y - tip}, {c.x + end, c.y - tip}, ink, thick);
    list->AddLine({c.x + tip, c.y - tip}, {c.x + tip, c.y - end}, ink, thick);
  }
  if (over) ui.tooltip(ui.tr(whole ? "panel.restore" : "panel.maximize"));
}

namespace {

// One gap. `size` is the panel's in design pixels now, `sign` +1 where moving right or down makes
// the panel larger.
void split(Ui& ui, std::string_view id, const Rect& r, bool upright, float size, float sign,
           float least, auto set) {
  if (r.width() < 1 || r.height() < 1) return;
  bool over = false;
  ui.hot(id, r, &over, true, FocusKind::kSlider);
  const bool held = ImGui::IsItemActive();
  const ImGuiIO& io = ImGui::GetIO();
  if (over || held) {
    ImGui::SetMouseCursor(upright ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
    const ImVec2 c{(r.x0 + r.x1) / 2, (r.y0 + r.y1) / 2};
    const float half = ui.px(18), thin = ui.px(1.5f);
    const ImVec2 reach = upright ? ImVec2(thin, half) : ImVec2(half, thin);
    ImGui::GetWindowDrawList()->AddRectFilled({c.x - reach.x, c.y - reach.y},
                                              {c.x + reach.x, c.y + reach.y},
                                              to_u32(ui.theme.muted), thin);
  }
  if (over && ImGui::IsMouseDoubleClicked(0)) return set(0.0f);
  if (const int steps = ui.nudge(id); steps != 0)
    return set(std::max(least, size + sign * static_cast<float>(steps) * 16));
  if (!held || !ImGui::IsMouseDragging(0, 2)) return;
  // From the edge itself, so that a gap that has reached its end waits for the mouse.
  const float edge = upright ? (sign > 0 ? r.x0 : r.x1) : (sign > 0 ? r.y0 : r.y1);
  const float grabbed = upright ? (r.x1 - r.x0) / 2 : (r.y1 - r.y0) / 2;
  const float mouse = (upright ? io.MousePos.x : io.MousePos.y) - sign * grabbed;
  const float next = std::max(least, size + sign * (mouse - edge) / ui.scale);
  if (std::fabs(next - size) >= 0.5f) set(std::round(next));
}

}  // namespace

void panel_splits(const AppState& state, Ui& ui, const WindowLayout& l) {
  const PanelSizes& sizes = state.session.sizes;
  split(ui, "split/rail", l.split_rail, true, l.rail.width() / ui.scale, 1, kRailLeast,
        [&](float size) {
          PanelSizes next = sizes;
          next.rail = size;
          ui.push(SizePanels{next});
        });
  split(ui, "split/inspector", l.split_inspector, true, l.inspector.width() / ui.scale, -1,
        kInspectorLeast, [&](float size) {
          PanelSizes next = sizes;
          next.inspector = size;
          ui.push(SizePanels{next});
        });
  split(ui, "split/heads", l.split_heads, false, l.heads.height() / ui.scale, -1, kHeadsLeast,
        [&](float size) {
          PanelSizes next = sizes;
          next.heads = size;
          ui.push(SizePanels{next});
        });
}

}  // namespace headlight
