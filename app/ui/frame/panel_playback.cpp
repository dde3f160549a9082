// The bar under the stage: how far the making of the shown step has been played, and the ways
// through it.
#include <algorithm>
#include <cmath>

#include "app/ui/frame/panels.h"
#include "app/ui/stage/stage_motion.h"
#include "app/ui/state/commands.h"
#include "core/base/number_text.h"

namespace headlight {
namespace {

// Icons as shapes: no font has them all. `x` and `y` are the centre.
void triangle(ImDrawList* list, float x, float y, float half, bool right, ImU32 color) {
  const float tip = right ? half : -half;
  const ImVec2 a{x - tip * 0.8f, y - half}, b{x - tip * 0.8f, y + half}, c{x + tip, y};
  // ImGui smooths the edges of triangles that turn clockwise.
  right ? list->AddTriangleFilled(a, c, b, color) : list->AddTriangleFilled(a, b, c, color);
}

void upright_bar(ImDrawList* list, float x, float y, float half, float width, ImU32 color) {
  list->AddRectFilled({std::round(x - width / 2), y - half}, {std::round(x + width / 2), y + half},
                      color);
}

enum class Icon { kRestart, kPrevious, kPlay, kPause, kNext, kSkip };

void draw_icon(Ui& ui, Icon icon, const Rect& r, Color color) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float x = (r.x0 + r.x1) / 2, y = (r.y0 + r.y1) / 2;
  const float half = ui.px(5), bar = std::max(1.0f, ui.px(2));
  const ImU32 ink = to_u32(color);
  switch (icon) {
    case Icon::kRestart:
      upright_bar(list, x - ui.px(6), y, half, bar, ink);
      return triangle(list, x + ui.px(1), y, half, false, ink);
    case Icon::kPrevious:
      return triangle(list, x, y, half, false, ink);
    case Icon::kPlay:
      return triangle(list, x + ui.px(1), y, half * 1.15f, true, ink);
    case Icon::kPause:
      upright_bar(list, x - ui.px(3), y, half, bar * 1.5f, ink);
      return upright_bar(list, x + ui.px(3), y, half, bar * 1.5f, ink);
    case Icon::kNext:
      return triangle(list, x, y, half, true, ink);
    case Icon::kSkip:
      triangle(list, x - ui.px(1), y, half, true, ink);
      return upright_bar(list, x + ui.px(6), y, half, bar, ink);
  }
}

std::string command_tip(const Ui& ui, Command command) {
  return std::string(command_help(ui.language, command)) + "  " +
         shortcut_text(command_info(command).key);
}

void icon_button(const AppState& state, Ui& ui, std::string_view id, Icon icon, Command command,
                 const Rect& r) {
  const bool enabled = is_enabled(command, state);
  const bool main = command == Command::kPlay;
  bool over = false;
  if (ui.hot(id, r, &over, enabled)) ui.push(DoCommand{command});
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (main) {
    list->AddCircleFilled({(r.x0 + r.x1) / 2, (r.y0 + r.y1) / 2}, r.width() / 2,
                          to_u32(enabled ? ui.theme.text : ui.theme.line), 32);
  } else if (over && enabled) {
    list->AddRectFilled(r.min(), r.max(), to_u32(ui.theme.selection), ui.px(6));
  }
  const Color ink = enabled ? ui.theme.text : faded(ui.theme.muted, 0.5f);
  draw_icon(ui, icon, r, main ? ui.theme.surface : ink);
  if (over) ui.tooltip(command_tip(ui, command));
}

// Draws the buttons; returns where they end.
float draw_buttons(const AppState& state, Ui& ui, const Rect& r) {
  struct Button {
    std::string_view id;
    Icon icon;
    Command command;
  };
  const bool playing = state.session.playback.playing;
  const Button buttons[] = {
      {"motion/restart", Icon::kRestart, Command::kRestartStep},
      {"step/previous", Icon::kPrevious, Command::kPreviousStep},
      {"motion/play", playing ? Icon::kPause : Icon::kPlay, Command::kPlay},
      {"step/next", Icon::kNext, Command::kNextStep},
      {"motion/skip", Icon::kSkip, Command::kSkipStep},
  };
  const float side = ui.px(28), y = std::round((r.y0 + r.y1 - side) / 2);
  float x = r.x0 + ui.px(14);
  for (const Button& b : buttons) {
    icon_button(state, ui, b.id, b.icon, b.command, {x, y, x + side, y + side});
    x += side + ui.px(4);
  }
  return x;
}

std::string of_text(const Ui& ui, std::string_view id, std::int64_t n, std::int64_t count) {
  return ui.tr(id, {{"n", count_text(n)}, {"count", count_text(count)}});
}

// "term 3 of 16", "cell 98 of 144": what the motion is at.
std::string progress_text(const Ui& ui, const Step& step, const MotionSize& size, const Motion& m) {
  if (step.calls.empty())  // the tokens themselves

    return of_text(ui, "motion.token_of", m.cells_done, size.cells());
  switch (m.phase) {
    case MotionPhase::kTerms:
      return of_text(ui, "motion.term_of", m.terms_shown, size.terms);
    case MotionPhase::kSum:
      return of_text(ui, "motion.sum_of", m.terms_summed, size.terms);
    default:
      return of_text(ui, "motion.cell_of", m.cells_done, size.cells());
  }
}

std::string speed_text(float speed) {
  return (speed < 1 ? number_text(speed, speed < 0.5f ? 2 : 1)
                    : std::to_string(std::lround(speed))) +
         "×";
}

void draw_speed(const AppState& state, Ui& ui, const Rect& r) {
  const float speed = state.session.playback.speed;
  bool over = false;
  if (ui.hot("motion/speed", r, &over)) {
    // The next one up; after the highest the lowest.
    const auto* next = std::upper_bound(std::begin(kSpeeds), std::end(kSpeeds), speed);
    ui.push(SetSpeed{next == std::end(kSpeeds) ? kSpeeds[0] : *next});
  }
  if (over)
    ImGui::GetWindowDrawList()->AddRectFilled(r.min(), r.max(), to_u32(ui.theme.selection),
                                              ui.px(6));
  const std::string words = speed_text(speed);
  const ImVec2 size = ui.measure(ui.fonts.control, words);
  ui.text(ui.fonts.control, {(r.x0 + r.x1 - size.x) / 2, (r.y0 + r.y1 - size.y) / 2}, ui.theme.text,
          words, r.width());
  if (over) {
    ui.tooltip(ui.tr("motion.speed.help",
                     {{"slower", shortcut_text(command_info(Command::kSlower).key)},
                      {"faster", shortcut_text(command_info(Command::kFaster).key)}}));
  }
}

// The line with its knob; dragging it sets the clock.
void draw_track(const AppState& state, Ui& ui, const Rect& track, const MotionSize& size) {
  const Playback& playback = state.session.playback;
  const double length = motion_length(size);
  const float part =
      playback.shown ? static_cast<float>(std::min(playback.clock / length, 1.0)) : 1.0f;
  const float inset = ui.px(6), x0 = track.x0 + inset, x1 = track.x1 - inset;
  const float y = std::round((track.y0 + track.y1) / 2), knob = x0 + (x1 - x0) * part;
  bool over = false;
  ui.hot("motion/track", track, &over);
  const bool held = ImGui::IsItemActive();
  if (held) {
    const float at = (ImGui::GetIO().MousePos.x - x0) / std::max(x1 - x0, 1.0f);
    ui.push(ScrubTo{std::clamp(at, 0.0f, 1.0f)});
  }
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float half = std::max(1.0f, ui.px(1.5f));
  list->AddRectFilled({x0, y - half}, {x1, y + half}, to_u32(ui.theme.line), half);
  list->AddRectFilled({x0, y - half}, {knob, y + half}, to_u32(ui.theme.text), half);
  // Where the first cell is made and where the rest begins.
  for (const MotionPhase phase : {MotionPhase::kLook, MotionPhase::kRest}) {
    const float x = x0 + (x1 - x0) * static_cast<float>(motion_begin(size, phase) / length);
    upright_bar(list, x, y, ui.px(4), std::max(1.0f, ui.px(1)), to_u32(ui.theme.muted));
  }
  list->AddCircleFilled({knob, y}, ui.px(over || held ? 7 : 6), to_u32(ui.theme.text), 24);
  if (over && !held) ui.tooltip(ui.tr("motion.track.help"));
}

}  // namespace

void panel_playback(const AppState& state, Ui& ui, const Rect& r) {
  ImGui::GetWindowDrawList()->AddLine({r.x0, r.y0}, {r.x1, r.y0}, to_u32(ui.theme.line));
  const Step& step = *current_step(state);
  const Program& program = state.derived.trace->program();
  const MotionSize size = shown_motion_size(state).value_or(MotionSize{});
  const std::optional<Motion> motion = shown_motion(state);
  const float left = draw_buttons(state, ui, r), middle = (r.y0 + r.y1) / 2;
  ImFont* font = ui.fonts.control;
  const float speed_width = ui.measure(font, "0.25×").x + ui.px(12);
  float right = r.x1 - ui.px(14);
  const float least_track = ui.px(90);
  if (right - speed_width - left > 0) {
    draw_speed(state, ui, {right - speed_width, middle - ui.px(14), right, middle + ui.px(14)});
    right -= speed_width + ui.px(8);
  }
  // Each text has room for its longest form, also while it is not shown, so that the track stays
  // under the mouse. Where there is room for one only, what moves comes first.
  const auto fits = [&](float room) { return right - room - ui.px(18) - left >= least_track; };
  const auto place = [&](const std::string& words, float room, Color color) {
    if (!fits(room)) return;
    ui.text(font, {right - room, middle - font_size(font) * 0.55f}, color, words);
    right -= room + ui.px(18);
  };
  const std::size_t forward = program.forward_steps();
  const auto first = static_cast<std::int64_t>(step.backward ? forward : 0);
  const auto count =
      static_cast<std::int64_t>(step.backward ? program.steps.size() : forward) - first;
  const auto number = static_cast<std::int64_t>(&step - program.steps.data()) + 1 - first;
  const std::string step_words = of_text(ui, "motion.step_of", number, count);
  const float step_room = ui.measure(font, of_text(ui, "motion.step_of", count, count)).x;
  float progress_room = step_room;
  for (const MotionPhase phase : {MotionPhase::kTerms, MotionPhase::kSum, MotionPhase::kDone}) {
    const Motion last{phase, 1, size.terms, size.terms, size.cells(), 0, 0};
    progress_room =
        std::max(progress_room, ui.measure(font, progress_text(ui, step, size, last)).x);
  }
  const bool both = fits(progress_room + ui.px(18) + step_room);
  const bool moves = motion && motion->phase != MotionPhase::kWords;
  if (!fits(progress_room)) {
    place(step_words, step_room, ui.theme.muted);
  } else if (moves) {
    place(progress_text(ui, step, size, *motion), progress_room, ui.theme.text);
  } else {
    place(both ? "" : step_words, progress_room, ui.theme.muted);
  }
  if (both) place(step_words, step_room, ui.theme.muted);
  if (right - left > ui.px(30)) {
    draw_track(state, ui, {left + ui.px(4), r.y0 + 1, right, r.y1 - 1}, size);
  }
}

}  // namespace headlight
