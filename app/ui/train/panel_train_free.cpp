// What the model of a run writes by itself, and how well it knows the text.
#include <algorithm>

#include "app/ui/train/panel_train.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"

namespace headlight {
namespace {

// The measurement that is nearest to the shown step; null when there is none.
template <class Point>
const Point* nearest_to(const std::vector<Point>& points, std::int64_t step) {
  const auto at = std::lower_bound(points.begin(), points.end(), step,
                                   [](const Point& p, std::int64_t s) { return p.step < s; });
  if (points.empty()) return nullptr;
  return at == points.end() ? &points.back() : &*at;
}

// Loss and bits per byte of the text at the shown step, for training and validation.
float text_figures(const AppState& state, Ui& ui, const Rect& r) {
  const RunView& run = state.train.run;
  const std::int64_t step = shown_step(state.session.train, run);
  const TrainStep* trained = nearest_to(run.curve, step);
  const ValidationPoint* validated = nearest_to(run.validation, step);
  const float right = r.x1 - ui.px(18), left = r.x0 + ui.px(18);
  const float column =
      std::max(ui.px(78), ui.measure(ui.fonts.note, ui.tr("train.validation")).x + ui.px(14));
  float y = r.y0 + ui.px(10);
  ui.text_right(ui.fonts.note, right, y, ui.theme.muted, ui.tr("train.validation"));
  ui.text_right(ui.fonts.note, right - column, y, ui.theme.muted, ui.tr("train.training"));
  const auto row = [&](std::string_view label_id, double of_training, double of_validation) {
    y += ui.px(20);
    ui.text(ui.fonts.control, {left, y}, ui.theme.text, ui.tr(label_id),
            right - left - 2 * column + ui.px(26));
    const auto number = [&](bool known, double value, float x) {
      ui.text_right(ui.fonts.mono, x, y, ui.theme.text, known ? fine_number(value, 3) : "–");
    };
    number(validated, of_validation, right);
    number(trained, of_training, right - column);
  };
  const double loss = trained ? trained->loss : 0, held_out = validated ? validated->loss : 0;
  row("train.curve.loss", loss, held_out);
  row("train.curve.bits", bits_per_byte(run, Split::kTraining, loss),
      bits_per_byte(run, Split::kValidation, held_out));
  return y + ui.px(26);
}

// Lines that are as a person would read them: an empty one says nothing here.
std::string without_empty_lines(const std::string& text) {
  std::string lines;
  for (const char c : text) {
    if (c != '\n' || (!lines.empty() && lines.back() != '\n')) lines += c;
  }
  return lines;
}

// The end of a text that may be long.
std::string tail_of(const std::string& text, std::size_t most) {
  const std::u32string code_points = to_code_points(text);
  if (code_points.size() <= most) return text;
  std::string tail = "…";
  for (std::size_t i = code_points.size() - most; i < code_points.size(); ++i)
    tail += to_utf8(code_points[i]);
  return tail;
}

float free_text(const AppState& state, Ui& ui, const Rect& r) {
  const FreeSample& sample = state.train.sample;
  const float left = r.x0 + ui.px(18), wide = r.width() - ui.px(36);
  float y = r.y0 + ui.px(10);
  ui.text(ui.fonts.strong, {left, y}, ui.theme.text, ui.tr("train.goes_on"));
  if (sample.step < 0) return y + ui.px(30);
  ui.text_right(ui.fonts.note, r.x1 - ui.px(18), y + ui.px(2), ui.theme.muted,
                ui.tr("train.step_n", {{"n", count_text(sample.step)}}));
  y += ui.px(26);
  if (!sample.problem.empty())
    return y + ui.wrapped(ui.fonts.note, {left, y}, wide, ui.theme.muted,
                          to_field_text(say(ui.language, sample.problem)));
  constexpr std::size_t kPromptTail = 60;
  y += ui.wrapped(ui.fonts.control, {left, y}, wide, ui.theme.muted,
                  to_field_text(without_empty_lines(tail_of(sample.prompt, kPromptTail))));
  const float top = y;
  y += ui.wrapped(ui.fonts.control, {left, y}, wide, ui.theme.text,
                  to_field_text(without_empty_lines(sample.text)));
  ui.drawn.add("label/train/sample", {left, top}, {left + wide, y});
  return y + ui.px(8);
}

// What an encoder-decoder writes for the sentence: the row of the trace, but where the sentence
// gives one.
float free_row(const AppState& state, Ui& ui, const Rect& r) {
  const Trace* trace = state.derived.trace.get();
  const auto& model = state.derived.model;
  const bool given = state.document().sentence.find("→") != std::string::npos ||
                     state.document().sentence.find("->") != std::string::npos;
  if (!trace || !model || trace->input().source_ids.empty() || given) return r.y0;
  const float left = r.x0 + ui.px(18), wide = r.width() - ui.px(36);
  float y = r.y0 + ui.px(10);
  ui.text(ui.fonts.strong, {left, y}, ui.theme.text, ui.tr("train.writes"));
  y += ui.px(26);
  const std::span<const int> ids = trace->input().ids;
  const std::string written =
      ids.size() > 1 ? model->vocabulary->decode(ids.subspan(1)) : std::string();
  const float top = y;
  y +=
      ui.wrapped(ui.fonts.control, {left, y}, wide, ui.theme.muted,
                 to_field_text(tail_of(model->vocabulary->decode(trace->input().source_ids), 120)));
  y += written.empty()
           ? ui.wrapped(ui.fonts.note, {left, y}, wide, ui.theme.muted,
                        ui.tr("train.writes_nothing"))
           : ui.wrapped(ui.fonts.control, {left, y}, wide, ui.theme.text, to_field_text(written));
  ui.drawn.add("label/train/sample", {left, top}, {left + wide, y});
  return y + ui.px(8);
}

}  // namespace

bool learns_text(const RunView& run) {
  return run.bytes_per_token[static_cast<int>(Split::kTraining)] > 0;
}

float train_free_samples(const AppState& state, Ui& ui, const Rect& r) {
  const RunView& run = state.train.run;
  const bool shown = state.document().model == kRunRef;
  float y = r.y0;
  if (run.task && learns_text(run)) {
    y = text_figures(state, ui, {r.x0, y, r.x1, r.y1});
    y = free_text(state, ui, {r.x0, y, r.x1, r.y1});
  } else if (shown && run.task && run.task->kind() == TaskKind::kTranslate) {
    y = free_row(state, ui, {r.x0, y, r.x1, r.y1});
  }
  if (y > r.y0) ImGui::GetWindowDrawList()->AddLine({r.x0, y}, {r.x1, y}, to_u32(ui.theme.line));
  return y;
}

}  // namespace headlight
