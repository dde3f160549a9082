// The curves of the runs, the marked step, and the buttons that play.
#include <algorithm>
#include <cmath>

#include "app/ui/kit/chart.h"
#include "app/ui/kit/line_text.h"
#include "app/ui/kit/number_row.h"
#include "app/ui/state/commands.h"
#include "app/ui/train/panel_train.h"
#include "app/ui/train/train_settings.h"
#include "core/base/number_text.h"
#include "core/train/fine_tuning.h"

namespace headlight {
namespace {

// A line of the chart: whose, what it is called, its points.
struct Line {
  std::string name;
  Color color;
  std::vector<ChartPoint> points;
  std::uint64_t run = 0;
  bool earlier = false;
  bool other_tokens = false;         // what it counts is not what the others count
  const RunView* trained = nullptr;  // of training: its exact values stand here
};

struct CurveName {
  Curve curve;
  std::string_view id;
};
constexpr CurveName kCurves[] = {{Curve::kLoss, "loss"},         {Curve::kBits, "bits"},
                                 {Curve::kPairs, "pairs"},       {Curve::kHidden, "hidden"},
                                 {Curve::kAccuracy, "accuracy"}, {Curve::kNorm, "norm"},
                                 {Curve::kRate, "rate"}};

// Does the run learn hidden tokens beside the class, so that its loss has two parts?
bool learns_both(const RunView& run) { return run.plan && run.plan->config.token_head; }

bool is_part(Curve curve) { return curve == Curve::kPairs || curve == Curve::kHidden; }

// Those that one of the runs has: bits per byte are of texts alone.
std::vector<CurveName> curves_of(const TrainData& data) {
  const bool text =
      learns_text(data.run) || std::any_of(data.earlier.begin(), data.earlier.end(),
                                           [](const auto& run) { return learns_text(*run); });
  std::vector<CurveName> curves;
  for (const CurveName& curve : kCurves) {
    const bool has = curve.curve == Curve::kBits ? text
                     : is_part(curve.curve)      ? learns_both(data.run)
                                                 : true;
    if (has) curves.push_back(curve);
  }
  return curves;
}

// What the curve counts: of a classifier whole examples, else tokens.
std::string_view unit_of(const Ui& ui, const RunView& run, const CurveName& curve) {
  const bool classifies = run.task && !run.task->classes().empty();
  const bool counts = curve.curve == Curve::kLoss || curve.curve == Curve::kAccuracy;
  if (curve.curve == Curve::kLoss && learns_both(run)) return ui.tr("train.unit.loss.both");
  return ui.tr("train.unit." + std::string(curve.id) + (classifies && counts ? ".class" : ""));
}

// The chosen one, or the loss where no run has it.
CurveName shown_curve(const AppState& state) {
  const std::vector<CurveName> curves = curves_of(state.train);
  for (const CurveName& curve : curves) {
    if (curve.curve == state.session.train.curve) return curve;
  }
  return curves[0];
}

StepValue value_of(Curve curve) {
  return curve == Curve::kNorm     ? StepValue::kNorm
         : curve == Curve::kRate   ? StepValue::kRate
         : curve == Curve::kPairs  ? StepValue::kClassLoss
         : curve == Curve::kHidden ? StepValue::kHiddenLoss
                                   : StepValue::kLoss;
}

// A run's number as the curve shows it.
double in_curve(const RunView& run, Curve curve, Split split, double value) {
  return curve == Curve::kBits ? bits_per_byte(run, split, value) : value;
}

// As many as a chart can show, whatever the length of the run: no spike is lost.
std::vector<ChartPoint> training_points(const RunView& run, Curve curve) {
  std::vector<ChartPoint> points;
  if (curve == Curve::kAccuracy || (curve == Curve::kBits && !learns_text(run))) return points;
  const auto shown = [&](double y) { return in_curve(run, curve, Split::kTraining, y); };
  const auto value = static_cast<std::size_t>(value_of(curve));
  for (const CurvePiece& piece : run.summary.pieces()) {
    const auto *first = &piece.low[value], *second = &piece.high[value];
    if (first->step < 0) continue;
    if (first->step > second->step) std::swap(first, second);
    points.push_back({static_cast<double>(first->step), shown(first->value)});
    if (second->step != first->step)
      points.push_back({static_cast<double>(second->step), shown(second->value)});
  }
  return points;
}

// Of these measurements; how many bytes the tokens of the old text have is not known.
std::vector<ChartPoint> measured_points(const RunView& run, Curve curve,
                                        const std::vector<ValidationPoint>& measured) {
  std::vector<ChartPoint> points;
  if (curve == Curve::kNorm || curve == Curve::kRate) return points;
  if (curve == Curve::kBits && !learns_text(run)) return points;
  for (const ValidationPoint& point : measured) {
    const double y = curve == Curve::kAccuracy ? point.accuracy
                     : curve == Curve::kPairs  ? point.loss - point.hidden_loss
                     : curve == Curve::kHidden
                         ? point.hidden_loss
                         : in_curve(run, curve, Split::kValidation, point.loss);
    points.push_back({static_cast<double>(point.step), y});
  }
  return points;
}

// What is right of the hidden tokens.
std::vector<ChartPoint> hidden_points(const RunView& run) {
  std::vector<ChartPoint> points;
  for (const ValidationPoint& point : run.validation)
    points.push_back({static_cast<double>(point.step), point.hidden_accuracy});
  return points;
}

// What is right of the rows that the model writes by itself, at each kept step.
std::vector<ChartPoint> written_points(const RunView& run) {
  std::vector<ChartPoint> points;
  for (const auto& snapshot : run.snapshots) {
    const TaskScore& alone = snapshot->probe.alone;
    if (alone.tokens > 0)
      points.push_back({static_cast<double>(snapshot->step), alone.token_accuracy()});
  }
  return points;
}

Color earlier_color(const Theme& theme, std::size_t i) {
  const Color colors[] = {theme.k, theme.pattern, theme.v, theme.muted};
  return colors[i % std::size(colors)];
}

// Do both count the same: per class, or per token of one vocabulary? Of a task of our own the
// vocabulary is the task's. Bits per byte are of one kind whatever the tokens.
bool counts_alike(const RunView& a, const RunView& b) {
  if (!a.plan || !b.plan || !a.plan->settings.task.empty()) return true;
  const TextOptions &x = a.plan->text_options, &y = b.plan->text_options;
  if (judges_rows(a.plan->data, x) && judges_rows(b.plan->data, y))
    return learns_both(a) == learns_both(b);
  return a.plan->settings.base == b.plan->settings.base && x.cut == y.cut &&
         x.vocabulary == y.vocabulary && x.characters == y.characters &&
         x.validation == y.validation && x.known == y.known;
}

// Losses and scores of different data say nothing beside each other, and share no axis.
bool learns_alike(const RunView& a, const RunView& b) {
  if (!a.plan || !b.plan || a.plan->settings.task != b.plan->settings.task) return !b.plan;
  const bool own = a.plan->settings.task.empty();
  return !own || (a.plan->data == b.plan->data && a.plan->text.path == b.plan->text.path &&
                  judges_rows(a.plan->data, a.plan->text_options) ==
                      judges_rows(b.plan->data, b.plan->text_options));
}

std::vector<Line> lines_of(const AppState& state, const Ui& ui) {
  const Curve curve = shown_curve(state).curve;
  std::vector<Line> lines;
  const auto& earlier = state.train.earlier;
  for (std::size_t i = 0; i < earlier.size(); ++i) {
    if (!learns_alike(*earlier[i], state.train.run)) continue;
    if (curve == Curve::kBits && !learns_text(*earlier[i])) continue;
    if (is_part(curve) && !learns_both(*earlier[i])) continue;
    const bool by_validation = curve == Curve::kAccuracy;
    Line line{ui.tr("train.run_n", {{"n", std::to_string(earlier[i]->status.run)}}),
              earlier_color(ui.theme, i),
              {},
              earlier[i]->status.run,
              true};
    // Named, so that it can be seen why it is not drawn.
    line.other_tokens = (curve == Curve::kLoss || curve == Curve::kAccuracy) &&
                        !counts_alike(*earlier[i], state.train.run);
    if (!line.other_tokens) {
      line.points = by_validation ? measured_points(*earlier[i], curve, earlier[i]->validation)
                                  : training_points(*earlier[i], curve);
      line.trained = by_validation ? nullptr : earlier[i].get();
    }
    lines.push_back(std::move(line));
  }
  const RunView& run = state.train.run;
  if (curve != Curve::kAccuracy) {
    lines.push_back({std::string(ui.tr("train.this_run")), ui.theme.text,
                     training_points(run, curve), run.status.run, false, false, &run});
  }
  if (curve != Curve::kNorm && curve != Curve::kRate) {
    const bool both = curve == Curve::kAccuracy && learns_both(run);
    lines.push_back({std::string(ui.tr(both ? "train.validation.pairs" : "train.validation")),
                     ui.theme.q, measured_points(run, curve, run.validation), run.status.run});
    if (both)
      lines.push_back({std::string(ui.tr("train.validation.hidden")), ui.theme.v,
                       hidden_points(run), run.status.run});
  }
  if (curve == Curve::kAccuracy) {
    std::vector<ChartPoint> alone = written_points(run);
    if (!alone.empty())
      lines.push_back(
          {std::string(ui.tr("train.free_running")), ui.theme.v, std::move(alone), run.status.run});
  }
  if ((curve == Curve::kLoss || curve == Curve::kAccuracy) && !run.old_text.empty() && run.plan) {
    lines.push_back({ui.tr("train.old_text", {{"name", base_name(*run.plan)}}), ui.theme.size_model,
                     measured_points(run, curve, run.old_text), run.status.run});
  }
  return lines;
}

// The point of a line that is nearest to a step, with its exact value.
std::optional<ChartPoint> nearest_point(const Line& line, Curve curve, double step) {
  if (line.trained && !line.trained->curve.empty()) {
    const auto& steps = line.trained->curve;
    const double last = static_cast<double>(steps.size() - 1);
    const TrainStep& found = steps[static_cast<std::size_t>(std::clamp(step, 0.0, last))];
    return ChartPoint{
        static_cast<double>(found.step),
        in_curve(*line.trained, curve, Split::kTraining, step_value(found, value_of(curve)))};
  }
  const auto& points = line.points;
  if (points.empty()) return std::nullopt;
  auto at = std::lower_bound(points.begin(), points.end(), step,
                             [](const ChartPoint& p, double x) { return p.x < x; });
  if (at == points.end()) return points.back();
  if (at != points.begin() && step - (at - 1)->x < at->x - step) --at;
  return *at;
}

Chart place_chart(const AppState& state, const std::vector<Line>& lines, const Rect& area) {
  const TrainSession& session = state.session.train;
  const bool shares = shown_curve(state).curve == Curve::kAccuracy;
  const bool logarithmic = session.logarithmic && !shares;
  double low = HUGE_VAL, high = -HUGE_VAL, last = 10;
  for (const Line& line : lines) {
    for (const ChartPoint& p : line.points) {
      last = std::max(last, p.x);
      if (!std::isfinite(p.y) || (logarithmic && p.y <= 0)) continue;
      low = std::min(low, p.y);
      high = std::max(high, p.y);
    }
  }
  if (state.train.run.plan && state.train.run.plan->stop.steps > 0)
    last = std::max(last, static_cast<double>(state.train.run.plan->stop.steps));
  Chart chart;
  chart.area = area;
  chart.x = {0, last, false};
  chart.y = shares ? ChartAxis{0, 1, false} : axis_around(low, high, logarithmic);
  return chart;
}

// How wide the name of a line and its value at the marked step are.
float entry_width(const Ui& ui, const Line& line) {
  const std::string_view value = line.other_tokens ? ui.tr("train.other_tokens") : "0.00e\u22120";
  return ui.px(22) + ui.measure(ui.fonts.control, line.name).x + ui.px(8) +
         ui.measure(ui.fonts.mono, value).x + ui.px(line.earlier ? 28 : 10);
}

void draw_entry(const AppState& state, Ui& ui, const Line& line, double step, const Rect& r) {
  const auto point = nearest_point(line, shown_curve(state).curve, step);
  const float middle = (r.y0 + r.y1) / 2, y = middle - font_size(ui.fonts.control) / 2 - ui.px(1);
  if (!line.other_tokens)
    ImGui::GetWindowDrawList()->AddRectFilled({r.x0, middle - ui.px(1.5f)},
                                              {r.x0 + ui.px(14), middle + ui.px(1.5f)},
                                              to_u32(line.color), ui.px(1));
  ui.text(ui.fonts.control, {r.x0 + ui.px(22), y},
          line.other_tokens ? ui.theme.muted : ui.theme.text, line.name);
  const float end = r.x1 - ui.px(line.earlier ? 28 : 10);
  ui.text_right(ui.fonts.mono, end, y, ui.theme.text,
                point               ? fine_number(point->y, 3)
                : line.other_tokens ? std::string(ui.tr("train.other_tokens"))
                                    : "–");
  if (!line.earlier) return;
  const Rect name{r.x0, r.y0, end - ui.px(2), r.y1};
  bool on_name = false;
  if (ui.hot("train/pin/" + std::to_string(line.run), name, &on_name))
    ui.push(PinStep{RunPoint{line.run, shown_step(state.session.train, state.train.run)}});
  if (on_name && line.other_tokens) {
    ui.tooltip(two_sentences(ui.tr("train.other_tokens.help"), ui.tr("train.pin_run")));
  } else if (on_name) {
    ui.tooltip(ui.tr("train.pin_run"));
  }
  const Rect close{end + ui.px(3), r.y0, end + ui.px(21), r.y1};
  bool over = false;
  if (ui.hot("train/forget/" + std::to_string(line.run), close, &over))
    ui.push(ForgetRun{line.run});
  ui.text(ui.fonts.control, {close.x0 + ui.px(4), y}, over ? ui.theme.text : ui.theme.muted, "×");
  if (over) ui.tooltip(ui.tr("train.forget"));
}

// The names of the lines with their values at the marked step, from the right; those that have no
// room beside the buttons stand in rows below, down to `lowest`; the oldest may be left out.
// Returns where the first row begins and the last one ends.
ImVec2 draw_legend_lines(const AppState& state, Ui& ui, const std::vector<Line>& lines,
                         const Rect& first, float left, float lowest) {
  const double step = static_cast<double>(shown_step(state.session.train, state.train.run));
  Rect row = first;
  float x = row.x1, begins = row.x1;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    const float wide = entry_width(ui, *line);
    if (x - wide < row.x0 && (x < row.x1 || row.y0 == first.y0)) {
      const float down = row.y0 == first.y0 ? ui.px(30) : ui.px(22);
      if (row.y1 + down > lowest) break;
      row = {left, row.y0 + down, first.x1, row.y1 + down};
      x = row.x1;
    }
    x -= wide;
    draw_entry(state, ui, *line, step, {x, row.y0, x + wide, row.y1});
    if (row.y0 == first.y0) begins = x;
  }
  return {begins, row.y1};
}

// Returns where it ends.
float head_line(const AppState& state, Ui& ui, const std::vector<Line>& lines, const Rect& r) {
  const TrainSession& session = state.session.train;
  const std::vector<CurveName> curves = curves_of(state.train);
  const CurveName shown = shown_curve(state);
  std::vector<std::string> labels;
  std::vector<std::string_view> ids;
  int chosen = 0;
  for (const CurveName& curve : curves) {
    if (curve.curve == shown.curve) chosen = static_cast<int>(ids.size());
    labels.emplace_back(ui.tr("train.curve." + std::string(curve.id)));
    ids.push_back(curve.id);
  }
  float x = r.x0 + ui.px(18);
  const float y = r.y0 + ui.px(9), height = ui.px(26);
  // With one curve more the names of the lines need the room.
  const float others = ui.px(curves.size() > 4 ? 430 : 110);
  const bool roomy = ui.segmented_width(labels) + others < r.width();
  const float list = std::min(ui.px(140), r.width() - ui.px(100));
  const int pressed =
      roomy ? ui.segmented("train/curve", labels, chosen, {x, y}, height, ids)
            : drop_down(ui, "train/curve", labels, ids, chosen, {x, y, x + list, y + height});
  if (pressed >= 0)
    ui.push(ChooseCurve{curves[static_cast<std::size_t>(pressed)].curve, session.logarithmic});
  x += (roomy ? ui.segmented_width(labels) : list) + ui.px(12);
  if (shown.curve != Curve::kAccuracy) {
    const std::string label(ui.tr("train.logarithmic"));
    const float wide = ui.measure(ui.fonts.control, label).x + ui.px(18);
    if (ui.button("train/logarithmic", label, {x, y, x + wide, y + ui.px(26)}, session.logarithmic,
                  true, ui.tr("train.logarithmic.help")))
      ui.push(ChooseCurve{shown.curve, !session.logarithmic});
    x += wide;
  }
  const Rect legend{x + ui.px(16), y, r.x1 - ui.px(16), y + ui.px(26)};
  const auto [begins, bottom] =
      draw_legend_lines(state, ui, lines, legend, r.x0 + ui.px(18), r.y1 - ui.px(170));
  const std::string unit(unit_of(ui, state.train.run, shown));
  const bool beside = ui.measure(ui.fonts.note, unit).x < begins - legend.x0 - ui.px(12);
  // Where the names of the lines take the room, over the axis.
  const ImVec2 at =
      beside ? ImVec2{legend.x0, y + ui.px(6)} : ImVec2{r.x0 + ui.px(18), bottom + ui.px(4)};
  ui.text(ui.fonts.note, at, ui.theme.muted, unit);
  return beside || unit.empty() ? bottom : bottom + ui.px(18);
}

// What stands beside the mouse: the step and every line's exact value there.
void hover_box(Ui& ui, const Chart& chart, const std::vector<Line>& lines, Curve curve,
               double step) {
  ImGui::PushFont(ui.fonts.control);
  ImGui::BeginTooltip();
  const std::string title =
      ui.tr("train.step_n", {{"n", count_text(static_cast<long long>(step))}});
  ImGui::TextUnformatted(title.c_str());
  ImGui::PopFont();
  ImGui::PushFont(ui.fonts.mono);
  for (const Line& line : lines) {
    const auto point = nearest_point(line, curve, step);
    // A line that has no number near here says nothing.
    if (!point || std::fabs(point->x - step) > std::max(10.0, (chart.x.high - chart.x.low) / 50))
      continue;
    const std::string text = line.name + "  " + exact_number(static_cast<float>(point->y));
    ImGui::PushStyleColor(ImGuiCol_Text, to_vec4(line.color));
    ImGui::TextUnformatted(text.c_str());
    ImGui::PopStyleColor();
  }
  ImGui::EndTooltip();
  ImGui::PopFont();
}

void draw_mark(Ui& ui, const Chart& chart, double step, Color color) {
  const float x = std::round(chart.at({step, chart.y.low}).x);
  ImGui::GetWindowDrawList()->AddLine({x, chart.area.y0}, {x, chart.area.y1}, to_u32(color),
                                      std::max(1.0f, ui.px(1.5f)));
}

void chart_body(const AppState& state, Ui& ui, const std::vector<Line>& lines, const Rect& r) {
  const RunView& run = state.train.run;
  const Chart chart = place_chart(state, lines, r);
  draw_chart_grid(ui, chart, true);
  for (const Line& line : lines)
    draw_chart_line(ui, chart, line.points, line.color, ui.px(line.earlier ? 1.2f : 1.6f));
  // Instead of the mark, which has nothing to be dragged over yet.
  if (run.status.phase == TrainPhase::kPreparing && !run.status.doing.empty())
    return train_reading(state, ui, r);
  bool over = false;
  ui.hot("train/chart", r, &over, true, FocusKind::kSlider);
  const float x = std::clamp(ImGui::GetIO().MousePos.x, r.x0, r.x1);
  const double step = std::round(chart.x.value((x - r.x0) / std::max(r.width(), 1.0f)));
  if (ImGui::IsItemActive() && ImGui::GetIO().MouseDown[0])
    ui.push(MarkStep{static_cast<std::int64_t>(step)});
  const TrainSession& session = state.session.train;
  if (session.pinned && session.pinned->run == run.status.run)
    draw_mark(ui, chart, static_cast<double>(session.pinned->step), ui.theme.k);
  if (!run.curve.empty())
    draw_mark(ui, chart, static_cast<double>(shown_step(session, run)), ui.theme.text);
  if (over && !run.curve.empty()) {
    ImGui::GetWindowDrawList()->AddLine({x, r.y0}, {x, r.y1}, to_u32(ui.theme.muted));
    hover_box(ui, chart, lines, shown_curve(state).curve, step);
  }
  if (run.curve.empty() && lines.size() < 3) {
    const TrainPhase phase = run.status.phase;
    const std::string_view words = ui.tr(phase == TrainPhase::kPreparing ? "train.chart_preparing"
                                         : phase == TrainPhase::kFailed  ? "train.chart_failed"
                                         : phase == TrainPhase::kNone    ? "train.chart_none"
                                                                         : "train.chart_empty");
    const ImVec2 size = ui.measure(ui.fonts.body, words);
    const ImVec2 at{(r.x0 + r.x1 - size.x) / 2, (r.y0 + r.y1 - size.y) / 2};
    ImGui::GetWindowDrawList()->AddRectFilled({at.x - ui.px(8), at.y},
                                              {at.x + size.x + ui.px(8), at.y + size.y},
                                              to_u32(ui.theme.surface));  // over the grid
    ui.text(ui.fonts.body, at, ui.theme.muted, words);
  }
}

}  // namespace

double bits_per_byte(const RunView& run, Split split, double loss) {
  const double bytes = run.bytes_per_token[static_cast<int>(split)];
  return bytes > 0 ? loss / std::log(2.0) / bytes : 0;
}

void panel_train_chart(const AppState& state, Ui& ui, const Rect& r) {
  ui.begin_panel("stage", r);
  const std::vector<Line> lines = lines_of(state, ui);
  const float top = head_line(state, ui, lines, r) + ui.px(15);
  const float bar = ui.px(46), growth = train_growth_height(state, ui, r.height());
  const float foot = r.y1 - bar - growth;
  const Rect body{r.x0 + ui.px(62), top, r.x1 - ui.px(20), foot - ui.px(26)};
  if (body.height() > ui.px(30) && body.width() > ui.px(60)) chart_body(state, ui, lines, body);
  if (growth > 0) train_growth(state, ui, {r.x0, foot, r.x1, r.y1 - bar});
  train_transport(state, ui, {r.x0, r.y1 - bar, r.x1, r.y1});
  ui.end_panel();
}

}  // namespace headlight
