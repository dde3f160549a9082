// The buttons that play a run, and what stands in the chart's place while its text is read.
#include <algorithm>

#include "app/ui/state/commands.h"
#include "app/ui/train/panel_train.h"
#include "core/base/number_text.h"

namespace headlight {
namespace {

std::string clock_text(double seconds) {
  const auto whole = static_cast<long long>(std::max(seconds, 0.0));
  const std::string rest = std::to_string(whole % 60);
  return count_text(whole / 60) + ":" + (rest.size() < 2 ? "0" : "") + rest;
}

// "step 920 of 2,500"
std::string step_words(const AppState& state, const Ui& ui) {
  const RunView& run = state.train.run;
  const std::int64_t steps = run.plan ? run.plan->stop.steps : 0;
  return ui.tr("train.step_of", {{"n", count_text(run.status.step)}, {"count", count_text(steps)}});
}

std::string speed_words(const AppState& state, const Ui& ui) {
  const TrainStatus& s = state.train.run.status;
  if (s.phase == TrainPhase::kPreparing) {
    return std::string(ui.tr(s.doing.empty() ? "train.preparing" : s.doing)) + "  " +
           std::to_string(static_cast<int>(s.share * 100)) + " %";
  }
  if (s.tokens_per_second <= 0) return "";
  const std::int64_t steps = state.train.run.plan ? state.train.run.plan->stop.steps : 0;
  const double left = static_cast<double>((steps - s.step) * s.tokens_per_step) /
                      std::max(s.tokens_per_second, 1e-9);
  std::string words =
      ui.tr("train.speed", {{"n", count_text(static_cast<long long>(s.tokens_per_second))},
                            {"gone", clock_text(s.seconds)}});
  if (s.phase == TrainPhase::kRunning && steps > s.step)
    words += ui.tr("train.left", {{"left", clock_text(left)}});
  if (!s.device.empty()) words += " · " + short_device(s.device);
  return words;
}

void play_icon(Ui& ui, ImVec2 c, bool pause, Color color) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float h = ui.px(6);
  if (!pause) {
    list->AddTriangleFilled({c.x - h * 0.6f, c.y - h}, {c.x + h, c.y}, {c.x - h * 0.6f, c.y + h},
                            to_u32(color));
    return;
  }
  for (const float side : {-1.0f, 1.0f}) {
    const float x = std::round(c.x + side * ui.px(3.5f));
    list->AddRectFilled({x - ui.px(1.5f), c.y - h}, {x + ui.px(1.5f), c.y + h}, to_u32(color));
  }
}

// A label button as wide as its words; moves `x` behind it.
bool word_button(Ui& ui, std::string_view id, std::string_view label, float& x, float y, bool on,
                 bool enabled, std::string_view help) {
  const float wide = ui.measure(ui.fonts.control, label).x + ui.px(20);
  const Rect r{x, y, x + wide, y + ui.px(28)};
  x = r.x1 + ui.px(6);
  return ui.button(id, label, r, on, enabled, help);
}

}  // namespace

void train_transport(const AppState& state, Ui& ui, const Rect& r) {
  const RunView& run = state.train.run;
  const TrainSession& session = state.session.train;
  const bool running = run.status.phase == TrainPhase::kRunning;
  const bool ready = run.live && run.status.phase != TrainPhase::kBroken;
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddLine({r.x0, r.y0}, {r.x1, r.y0}, to_u32(ui.theme.line));
  const float middle = (r.y0 + r.y1) / 2;
  const Rect play{r.x0 + ui.px(18), middle - ui.px(15), r.x0 + ui.px(48), middle + ui.px(15)};
  bool over = false;
  if (ui.hot("train/play", play, &over, ready)) ui.push(PlayRun{!running});
  const ImVec2 center{(play.x0 + play.x1) / 2, middle};
  list->AddCircleFilled(center, ui.px(15), to_u32(ready ? ui.theme.text : ui.theme.line), 32);
  play_icon(ui, center, running, ui.theme.surface);
  if (over) ui.tooltip(command_hint(ui.language, Command::kTrainPlay));
  float x = play.x1 + ui.px(10);
  const float y = middle - ui.px(14);
  if (word_button(ui, "train/step", ui.tr("train.one_step"), x, y, false, ready && !running,
                  command_help(ui.language, Command::kTrainStep)))
    ui.push(StepRun{});
  if (word_button(ui, "train/film", ui.tr("train.film"), x, y, session.film,
                  is_enabled(Command::kTrainFilm, state),
                  command_help(ui.language, Command::kTrainFilm)))
    ui.push(DoCommand{Command::kTrainFilm});
  if (session.at) {
    if (word_button(ui, "train/newest", ui.tr("train.newest"), x, y, false, true,
                    ui.tr("train.newest.help")))
      ui.push(MarkStep{});
  }
  const float text_y = middle - font_size(ui.fonts.control) / 2 - ui.px(1);
  x += ui.px(8);
  const std::string step = step_words(state, ui), speed = speed_words(state, ui);
  const std::string memory = ui.tr(
      "train.history", {{"n", std::to_string(run.snapshots.size())},
                        {"bytes", bytes_text(static_cast<double>(run.status.history_bytes))}});
  float right = r.x1 - ui.px(18);
  const float memory_width = ui.measure(ui.fonts.note, memory).x;
  const float step_width = ui.measure(ui.fonts.strong, step).x;
  if (x + step_width < right) ui.text(ui.fonts.strong, {x, text_y}, ui.theme.text, step);
  x += step_width + ui.px(18);
  if (x + memory_width < right && !run.snapshots.empty()) {
    right -= memory_width;
    ui.text(ui.fonts.note, {right, text_y + ui.px(2)}, ui.theme.muted, memory);
    right -= ui.px(16);
  }
  if (x + ui.measure(ui.fonts.mono, speed).x < right)
    ui.text(ui.fonts.mono, {x, text_y}, ui.theme.muted, speed);
}

void train_reading(const AppState& state, Ui& ui, const Rect& area) {
  const TrainStatus& status = state.train.run.status;
  const RunPlan* plan = state.train.run.plan.get();
  const std::string file = plan ? to_field_text(plan->text.path.filename().string()) : "";
  const float wide = std::min(ui.px(420), area.width() - ui.px(16)), pad = ui.px(16);
  const float tall = std::min(ui.px(112), area.height());
  const float x0 = (area.x0 + area.x1 - wide) / 2, y0 = (area.y0 + area.y1 - tall) / 2;
  const Rect box{x0, y0, x0 + wide, y0 + tall};
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(box.min(), box.max(), to_u32(ui.theme.surface), ui.px(8));
  list->AddRect(box.min(), box.max(), to_u32(ui.theme.line), ui.px(8));
  const float percent = ui.measure(ui.fonts.mono, "100 %").x;
  ui.user_text(
      ui.fonts.control, {box.x0 + pad, box.y0 + ui.px(12)}, ui.theme.text,
      ui.tr("train.reading", {{"doing", std::string(ui.tr(status.doing))}, {"file", file}}),
      wide - 2 * pad - percent - ui.px(8));
  const double share = std::clamp(status.share, 0.0, 1.0);
  ui.text_right(ui.fonts.mono, box.x1 - pad, box.y0 + ui.px(12), ui.theme.text,
                std::to_string(static_cast<int>(share * 100)) + " %");
  const Rect bar{box.x0 + pad, box.y0 + ui.px(40), box.x1 - pad, box.y0 + ui.px(48)};
  list->AddRectFilled(bar.min(), bar.max(), to_u32(ui.theme.line), ui.px(4));
  const float done = bar.x0 + static_cast<float>(share) * bar.width();
  if (done > bar.x0 + 1)
    list->AddRectFilled(bar.min(), {done, bar.y1}, to_u32(ui.theme.pattern), ui.px(4));
  ui.drawn.add("train/reading", bar.min(), bar.max());
  const std::string_view label = ui.tr("train.cancel");
  const float room = ui.measure(ui.fonts.control, label).x + ui.px(32);
  const float top = box.y1 - ui.px(14) - ui.px(30);
  if (ui.button("train/cancel", label, {box.x1 - pad - room, top, box.x1 - pad, top + ui.px(30)}))
    ui.push(CancelRun{});
}

}  // namespace headlight
