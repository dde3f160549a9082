#include <algorithm>
#include <cmath>

#include "app/ui/frame/hints.h"

namespace headlight {
namespace {

constexpr std::string_view kTexts[kHintCount] = {"hint.sentence", "hint.cell", "hint.steps",
                                                 "hint.play", "hint.find"};

template <class T>
const T* as(const Action& action) {
  return std::get_if<T>(&action);
}

bool is_command(const Action& action, Command command) {
  const auto* done = as<DoCommand>(action);
  return done && done->command == command;
}

Rect rect_of(const DrawnControl& r) { return {r.min.x, r.min.y, r.max.x, r.max.y}; }

// What a hint points at; the first of these that is on the screen.
std::optional<Rect> target(const Ui& ui, int hint) {
  const auto find = [&](std::initializer_list<std::string_view> ids) -> std::optional<Rect> {
    for (const std::string_view id : ids) {
      const DrawnControl* r = ui.drawn.find(id);
      if (r && r->max.x > r->min.x && r->max.y > r->min.y) return rect_of(*r);
    }
    return std::nullopt;
  };
  switch (hint) {
    case 0:
      return find({"sentence"});
    case 1: {
      // The result of the step stands last on its page.
      const DrawnControl* last = nullptr;
      std::string_view last_id;
      for (const auto& [id, r] : ui.drawn.all()) {
        if (!id.starts_with("pane/") || id < last_id) continue;
        last = &r;
        last_id = id;
      }
      return last ? std::optional(rect_of(*last)) : std::nullopt;
    }
    case 2:
      return find({"rail/current", "view/rail"});
    case 3:
      return find({"motion/play", "step/next"});
    default:
      return find({"menu/Help"});
  }
}

bool apart(const Rect& a, const Rect& b) {
  return a.x1 <= b.x0 || b.x1 <= a.x0 || a.y1 <= b.y0 || b.y1 <= a.y0;
}

// Beside the target, inside the window, never over it. Nothing when there is no such place.
std::optional<Rect> beside(const Rect& t, ImVec2 size, ImVec2 window, float gap) {
  const auto within = [](float at, float length, float room) {
    return std::clamp(at, 4.0f, std::max(4.0f, room - length - 4));
  };
  const float x = within((t.x0 + t.x1 - size.x) / 2, size.x, window.x);
  const float y = within((t.y0 + t.y1 - size.y) / 2, size.y, window.y);
  const ImVec2 places[] = {
      {x, t.y1 + gap}, {t.x1 + gap, y}, {t.x0 - gap - size.x, y}, {x, t.y0 - gap - size.y}};
  for (const ImVec2 p : places) {
    const Rect r{std::round(p.x), std::round(p.y), std::round(p.x) + size.x,
                 std::round(p.y) + size.y};
    const bool inside = r.x0 >= 0 && r.y0 >= 0 && r.x1 <= window.x && r.y1 <= window.y;
    if (inside && apart(r, t)) return r;
  }
  return std::nullopt;
}

// A corner of the bubble's edge that points at the target.
void draw_pointer(Ui& ui, ImDrawList* list, const Rect& r, const Rect& t) {
  const float side = ui.px(7);
  const float x = std::clamp((t.x0 + t.x1) / 2, r.x0 + 2 * side, r.x1 - 2 * side);
  const float y = std::clamp((t.y0 + t.y1) / 2, r.y0 + 2 * side, r.y1 - 2 * side);
  const ImU32 ink = to_u32(ui.theme.text);
  if (t.y1 <= r.y0)
    list->AddTriangleFilled({x - side, r.y0}, {x + side, r.y0}, {x, r.y0 - side}, ink);
  else if (t.y0 >= r.y1)
    list->AddTriangleFilled({x - side, r.y1}, {x + side, r.y1}, {x, r.y1 + side}, ink);
  else if (t.x1 <= r.x0)
    list->AddTriangleFilled({r.x0, y - side}, {r.x0, y + side}, {r.x0 - side, y}, ink);
  else
    list->AddTriangleFilled({r.x1, y - side}, {r.x1, y + side}, {r.x1 + side, y}, ink);
}

}  // namespace

bool does_hint(int hint, const Action& action) {
  switch (hint) {
    case 0: {
      const auto* edit = as<DoEdit>(action);
      return edit && std::holds_alternative<SetSentence>(edit->edit);
    }
    case 1:
      return as<PickCell>(action) != nullptr;
    case 2:
      return as<GoToStep>(action) || is_command(action, Command::kNextStep) ||
             is_command(action, Command::kPreviousStep);
    case 3:
      return is_command(action, Command::kPlay);
    case 4:
      return is_command(action, Command::kPalette);
    default:
      return false;
  }
}

void panel_hint(const AppState& state, Ui& ui, float width, float height) {
  const int hint = state.session.hint;
  if (hint < 0 || hint >= kHintCount) return;
  // A menu or sheet speaks first, and what is wrong, which the bubble could cover.
  if (ImGui::GetCurrentContext()->OpenPopupStack.Size > 0) return;
  if (hints_wait(state)) return;
  const std::optional<Rect> t = target(ui, hint);
  if (!t) return;
  const float pad = ui.px(14), line = ui.px(28);
  const float w = std::min(ui.px(290), width - ui.px(16));
  const std::string_view words = ui.tr(kTexts[hint]);
  const float text = ui.wrapped_height(ui.fonts.control, w - 2 * pad, words);
  const std::optional<Rect> place =
      beside(*t, {w, text + line + pad * 2 + ui.px(8)}, {width, height}, ui.px(10));
  if (!place) return;
  const Rect& r = *place;
  ImGui::SetNextWindowPos(r.min());
  ImGui::SetNextWindowSize({r.width(), r.height()});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowMinSize, ImVec2(1, 1));
  ImGui::Begin("hint", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBackground |
                   ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoNav);
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->PushClipRectFullScreen();
  draw_pointer(ui, list, r, *t);
  list->AddRectFilled(r.min(), r.max(), to_u32(ui.theme.surface), ui.px(8));
  list->AddRect(r.min(), r.max(), to_u32(ui.theme.text), ui.px(8), 0, ui.px(1.5f));
  ui.wrapped(ui.fonts.control, {r.x0 + pad, r.y0 + pad}, w - 2 * pad, ui.theme.text, words);
  const float y = r.y1 - pad - line + ui.px(2);
  const bool last = hint + 1 == kHintCount;
  const std::string count = std::to_string(hint + 1) + " / " + std::to_string(kHintCount);
  ui.text(ui.fonts.note, {r.x0 + pad, y + ui.px(7)}, ui.theme.muted, count);
  float x = r.x1 - pad;
  const auto button = [&](std::string_view id, std::string_view label, bool strong) {
    const float room = ui.measure(ui.fonts.control, label).x + ui.px(22);
    x -= room;
    const bool pressed = ui.button(id, label, {x, y, x + room, y + line}, strong);
    x -= ui.px(6);
    return pressed;
  };
  if (last) {
    if (button("hint/done", ui.tr("hint.done"), true)) ui.push(ShowHint{-1});
  } else {
    if (button("hint/next", ui.tr("hint.next"), true)) ui.push(ShowHint{hint + 1});
    if (button("hint/done", ui.tr("hint.done"), false)) ui.push(ShowHint{-1});
  }
  ui.drawn.add("panel/hint", r.min(), r.max());
  ui.drawn.add("hint/target", t->min(), t->max());
  list->PopClipRect();
  ImGui::End();
  ImGui::PopStyleVar(3);
}

}  // namespace headlight
