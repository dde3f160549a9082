// How the text that a model writes grows while it learns, and what it learns from: rows of the text
// beside themselves, shifted by one.
#include <algorithm>

#include "app/ui/kit/line_text.h"
#include "app/ui/train/panel_train.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"

namespace headlight {
namespace {

constexpr float kTitle = 30, kLine = 21, kFoot = 8;
constexpr std::size_t kMostLines = 5;
constexpr float kLeastChart = 215;  // design pixels of the panel that are the curves'

// Those up to the shown step, so many of them, evenly: the first and the last among them.
std::vector<const FreeSample*> shown_samples(const AppState& state, std::size_t most) {
  const auto& growth = state.train.growth;
  const std::int64_t step = shown_step(state.session.train, state.train.run);
  std::vector<const FreeSample*> all, chosen;
  for (const FreeSample& sample : growth) {
    if (sample.step <= step) all.push_back(&sample);
  }
  if (all.size() <= most) return all;
  for (std::size_t i = 0; i < most; ++i)
    chosen.push_back(all[most < 2 ? all.size() - 1 : i * (all.size() - 1) / (most - 1)]);
  return chosen;
}

std::size_t line_count(const Ui& ui, float panel) {
  const float room = panel - ui.px(kLeastChart + kTitle + kFoot);
  return static_cast<std::size_t>(
      std::clamp(room / ui.px(kLine), 0.0f, static_cast<float>(kMostLines)));
}

// A line of the list; a click marks its step.
void growth_line(const AppState& state, Ui& ui, const FreeSample& sample, const Rect& r) {
  const std::string id = "train/growth/" + std::to_string(sample.step);
  bool over = false;
  if (ui.hot(id, r, &over)) ui.push(MarkStep{sample.step});
  const bool now = sample.step == shown_step(state.session.train, state.train.run);
  const Color color = now || over ? ui.theme.text : ui.theme.muted;
  const float text_x = r.x0 + ui.px(62);
  ui.text_right(ui.fonts.mono_small, text_x - ui.px(14), r.y0 + ui.px(3), color,
                count_text(sample.step));
  const std::string text = sample.problem.empty() ? sample.text : say(ui.language, sample.problem);
  ui.user_text(ui.fonts.control, {text_x, r.y0 + ui.px(1)}, color, to_line_text(text),
               r.x1 - text_x);
}

// What stands at one place of the row, below each other.
struct ShiftedPlace {
  std::string token, target, said;
  bool scored = false, right = false;
};

std::vector<ShiftedPlace> shifted_places(const RunView& run, std::int64_t step) {
  std::vector<ShiftedPlace> places;
  const TaskExample& example = run.examples[0];
  const auto snapshot = nearest_snapshot(run.snapshots, step);
  const Vocabulary& vocabulary = run.task->vocabulary();
  const std::vector<int>* said =
      snapshot && !snapshot->probe.predicted.empty() ? &snapshot->probe.predicted[0] : nullptr;
  for (std::size_t t = 0; t < example.tokens.size() && t < example.targets.size(); ++t) {
    ShiftedPlace place;
    place.token = token_label(vocabulary.token(example.tokens[t]));
    place.scored = example.targets[t] >= 0;
    if (place.scored) place.target = token_label(vocabulary.token(example.targets[t]));
    if (place.scored && said && t < said->size()) {
      place.said = token_label(vocabulary.token((*said)[t]));
      place.right = (*said)[t] == example.targets[t];
    }
    places.push_back(std::move(place));
  }
  return places;
}

// A target is the token of the next place: a line from one to the other.
void join(Ui& ui, ImVec2 target, ImVec2 next_token) {
  ImGui::GetWindowDrawList()->AddLine(target, next_token, to_u32(ui.theme.muted),
                                      std::max(1.0f, ui.px(1)));
}

// The places that fit, in three rows.
void draw_places(Ui& ui, const std::vector<ShiftedPlace>& places, const Rect& r) {
  const float rows[] = {r.y0, r.y0 + ui.px(40), r.y0 + ui.px(62)};
  const float half = font_size(ui.fonts.mono) + ui.px(2);
  float x = r.x0, before = -1;
  for (const ShiftedPlace& place : places) {
    float wide = 0;
    for (const std::string* text : {&place.token, &place.target, &place.said})
      wide = std::max(wide, ui.measure(ui.fonts.mono, *text).x);
    if (x + wide > r.x1) break;
    ui.text(ui.fonts.mono, {x, rows[0]}, ui.theme.text, place.token);
    ui.text(ui.fonts.mono, {x, rows[1]}, ui.theme.text, place.target);
    ui.text(ui.fonts.mono, {x, rows[2]}, place.right ? ui.theme.v : ui.theme.error, place.said);
    if (before >= 0)
      join(ui, {before, rows[1] - ui.px(1)},
           {x + ui.measure(ui.fonts.mono, place.token).x / 2, rows[0] + half});
    before = place.scored ? x + ui.measure(ui.fonts.mono, place.target).x / 2 : -1;
    x += wide + ui.px(9);
  }
}

}  // namespace

float train_growth_height(const AppState& state, const Ui& ui, float panel) {
  const std::size_t lines = line_count(ui, panel);
  if (state.train.growth.empty() || lines == 0) return 0;
  return ui.px(kTitle + kFoot) + ui.px(kLine) * static_cast<float>(lines);
}

void train_growth(const AppState& state, Ui& ui, const Rect& r) {
  ImGui::GetWindowDrawList()->AddLine({r.x0, r.y0}, {r.x1, r.y0}, to_u32(ui.theme.line));
  const float left = r.x0 + ui.px(18), right = r.x1 - ui.px(18), y = r.y0 + ui.px(9);
  const std::string title =
      ui.tr("train.growth", {{"t", number_text(kGrowthSampling.temperature, 1)}});
  const float end = left + ui.measure(ui.fonts.strong, title).x;
  ui.text(ui.fonts.strong, {left, y}, ui.theme.text, title);
  const std::string after =
      ui.tr("train.growth.after", {{"text", to_line_text(state.train.growth.front().prompt)}});
  const float room = right - end - ui.px(16);
  const float wide = std::min(ui.measure(ui.fonts.note, after).x + ui.px(2), room);
  if (wide > ui.px(60))
    ui.user_text(ui.fonts.note, {right - wide, y + ui.px(2)}, ui.theme.muted, after, wide);
  float top = r.y0 + ui.px(kTitle);
  for (const FreeSample* sample : shown_samples(
           state,
           static_cast<std::size_t>((r.height() - ui.px(kTitle + kFoot)) / ui.px(kLine) + 0.5f))) {
    growth_line(state, ui, *sample, {r.x0 + ui.px(8), top, right, top + ui.px(kLine)});
    top += ui.px(kLine);
  }
  ui.drawn.add("label/train/growth", {left, r.y0}, {right, top});
}

float train_shifted(const AppState& state, Ui& ui, const Rect& r) {
  const RunView& run = state.train.run;
  const bool text = run.task && learns_text(run) && run.task->kind() == TaskKind::kNextToken;
  if (!text || run.examples.empty()) return r.y0;
  const float left = r.x0 + ui.px(18), right = r.x1 - ui.px(14);
  const float y = r.y0 + ui.px(12);
  ui.text(ui.fonts.strong, {left, y}, ui.theme.text, ui.tr("train.shifted"));
  const float rows = y + ui.px(28);
  float names = 0;
  const std::pair<std::string_view, float> labels[] = {
      {"train.shifted.token", 0}, {"train.shifted.target", 40}, {"train.shifted.said", 62}};
  for (const auto& [id, down] : labels) {
    ui.text(ui.fonts.note, {left, rows + ui.px(down + 1)}, ui.theme.muted, ui.tr(id));
    names = std::max(names, ui.measure(ui.fonts.note, ui.tr(id)).x);
  }
  const std::vector<ShiftedPlace> places =
      shifted_places(run, shown_step(state.session.train, run));
  draw_places(ui, places, {left + names + ui.px(12), rows, right, r.y1});
  const float end = rows + ui.px(84);
  ui.drawn.add("label/train/shifted", {left, y}, {right, end});
  if (ImGui::IsMouseHoveringRect({left, y}, {right, end}) && ImGui::IsWindowHovered())
    ui.tooltip(ui.tr("train.shifted.help"));
  ImGui::GetWindowDrawList()->AddLine({r.x0, end + ui.px(4)}, {r.x1, end + ui.px(4)},
                                      to_u32(ui.theme.line));
  return end + ui.px(4);
}

}  // namespace headlight
