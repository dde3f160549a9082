// Every head on the person's sentence as of the marked step: its picture, its badge, and how that
// came to be.
#include <algorithm>
#include <cmath>

#include "app/ui/heads/head_names.h"
#include "app/ui/heads/unkept_pattern.h"
#include "app/ui/kit/chart.h"
#include "app/ui/matrix/linked_hover.h"
#include "app/ui/matrix/pane_view.h"
#include "app/ui/numbers/number_plot.h"
#include "app/ui/state/commands.h"
#include "app/ui/train/panel_train.h"
#include "core/base/number_text.h"
#include "core/base/random.h"
#include "core/train/heads/trace_heads.h"
#include "core/view/pane_layout.h"

namespace headlight {
namespace {

// The kinds by which heads are told apart, as scores; the index is layer · heads + head.
struct HeadStory {
  std::optional<Badge> badge;      // earned at the shown step
  Badge kind = Badge::kUniform;    // whose score is drawn: the earned one, or the nearest
  std::vector<ChartPoint> scores;  // over the steps
  double now = 0;
  std::int64_t rows = 0;
};

// The badge of whose threshold the head has reached the largest part.
Badge nearest(const HeadScores& scores) {
  Badge best = Badge::kUniform;
  const auto part = [&](Badge b) { return scores[b].value / badge_info(b).threshold; };
  for (const BadgeInfo& info : badges()) {
    if (scores[info.badge].rows >= kBadgeRows && part(info.badge) > part(best)) best = info.badge;
  }
  return best;
}

HeadStory story_of(const RunView& run, const Snapshot& shown, std::size_t head) {
  HeadStory story;
  if (head >= shown.probe.heads.size()) return story;
  const HeadScores& scores = shown.probe.heads[head];
  story.badge = best_badge(scores);
  story.kind = story.badge.value_or(nearest(scores));
  story.now = scores[story.kind].value;
  story.rows = scores[story.kind].rows;
  for (const auto& snapshot : run.snapshots) {
    if (head < snapshot->probe.heads.size())
      story.scores.push_back(
          {static_cast<double>(snapshot->step), snapshot->probe.heads[head][story.kind].value});
  }
  return story;
}

// How the score went, with the shown step as a line through it.
void sparkline(Ui& ui, const HeadStory& story, std::int64_t step, const Rect& r, Color color) {
  if (story.scores.size() < 2) return;
  Chart chart;
  chart.area = r;
  chart.x = {0, std::max(story.scores.back().x, 1.0), false};
  chart.y = {0, 1, false};
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddLine({r.x0, r.y1}, {r.x1, r.y1}, to_u32(ui.theme.line));
  draw_chart_line(ui, chart, story.scores, color, ui.px(1.4f));
  const ImVec2 at = chart.at({static_cast<double>(step), story.now});
  list->AddCircleFilled({std::min(at.x, r.x1), at.y}, ui.px(2.5f), to_u32(color));
}

struct Grid {
  const AppState& state;
  Ui& ui;
  const Snapshot* shown;
  std::int64_t step;
};

float picture_gap(const PagePane& pane, const Rect& r) {
  const float cell = std::min(r.width() / static_cast<float>(pane.pane.columns),
                              r.height() / static_cast<float>(pane.pane.rows));
  return cell >= 6 ? 1.0f : 0.0f;
}

// How the pattern differs from the pinned point's; null where there is nothing to compare.
const std::vector<float>* difference_of(const Grid& g, const PagePane& pane) {
  if (!g.state.train.pinned || !g.state.train.differences) return nullptr;
  const Program& program = g.state.derived.trace->program();
  const PatternDifferences& all = *g.state.train.differences;
  const auto at = all.find(program.tensors[static_cast<std::size_t>(pane.tensor)].name);
  return at == all.end() ? nullptr : &at->second;
}

void difference_picture(const Grid& g, const PagePane& pane, const std::vector<float>& cells,
                        const Rect& r) {
  const std::uint64_t both =
      g.state.derived.trace->serial() ^ scatter(g.state.train.pinned->serial());
  HeatmapQuad quad;
  quad.x0 = r.x0;
  quad.y0 = r.y0;
  quad.x1 = r.x1;
  quad.y1 = r.y1;
  quad.data = cells.data() + pane.pane.offset;
  quad.rows = pane.pane.rows;
  quad.columns = pane.pane.columns;
  quad.row_stride = pane.pane.row_stride;
  quad.column_stride = pane.pane.column_stride;
  quad.key = scatter(both ^ scatter(static_cast<std::uint64_t>(pane.tensor) << 32 ^
                                    static_cast<std::uint64_t>(pane.pane.offset)));
  quad.unit = g.ui.scale;
  quad.gap = picture_gap(pane, r);
  quad.scale = g.ui.theme.signed_scale(1);
  g.ui.heatmaps.draw(ImGui::GetWindowDrawList(), quad);
}

// The sentence's pattern in this head; with a pinned point, how it differs from there, and both
// small beside it. True when a comparison was drawn.
bool picture(const Grid& g, const PagePane& pane, const Rect& r, const Rect& beside, bool over) {
  const Trace& trace = *g.state.derived.trace;
  const Color line = g.ui.theme.line;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const std::vector<float>* difference = difference_of(g, pane);
  if (difference) {
    difference_picture(g, pane, *difference, r);
    const float side = std::min(beside.width(), beside.height() / 2 - g.ui.px(3));
    const Rect above{beside.x0, r.y0, beside.x0 + side, r.y0 + side};
    const Rect below{beside.x0, r.y1 - side, beside.x0 + side, r.y1};
    draw_heatmap(g.ui, *g.state.train.pinned, pane, above, 0);
    draw_heatmap(g.ui, trace, pane, below, 0);
    for (const Rect& small : {above, below}) list->AddRect(small.min(), small.max(), to_u32(line));
  } else {
    draw_heatmap(g.ui, trace, pane, r, picture_gap(pane, r));
  }
  list->AddRect(r.min(), r.max(), to_u32(line));
  if (over) hover_picture(g.state, g.ui, pane, r);
  mark_hovered_place(g.state, g.ui, pane, r);
  return difference != nullptr;
}

// One row of heads: a pattern of the program.
struct HeadRow {
  TensorId pattern = -1;
  const Step* step = nullptr;
  std::size_t first = 0;  // of its heads in ProbeResult::heads
  int heads = 0;
  std::string name;
};

std::vector<HeadRow> head_rows(const AppState& state, const Ui& ui) {
  const Program& program = state.derived.trace->program();
  std::vector<HeadRow> rows;
  std::size_t first = 0;
  for (const int place : pattern_steps(program)) {
    const Step& step = program.steps[static_cast<std::size_t>(place)];
    const int heads = program.config.head_count();
    rows.push_back({step.tensor, &step, first, heads, attention_name(ui, step)});
    first += static_cast<std::size_t>(heads);
  }
  return rows;
}

// Under the picture: the head's number and its badge.
void head_name(const Grid& g, const std::string& number, const HeadStory& story, Color color,
               const Rect& r) {
  Ui& ui = g.ui;
  ui.text(ui.fonts.strong, r.min(), ui.theme.text, number);
  if (!story.badge && story.rows == 0) return;
  const float x = r.x0 + ui.measure(ui.fonts.strong, number).x + ui.px(8);
  const bool special = color == ui.theme.pattern;
  // Without a badge: which score it is that stands beside the picture, and that it is too low.
  const std::string kind(ui.tr(badge_info(story.kind).label));
  ui.user_text(special && story.badge ? ui.fonts.strong : ui.fonts.note,
               {x, r.y0 + (special ? 0 : ui.px(1))}, story.badge ? color : ui.theme.muted,
               story.badge ? kind : ui.tr("train.head_near", {{"kind", kind}}),
               r.x1 - x - ui.px(4));
}

bool is_special(const HeadStory& story) {
  return story.badge == Badge::kInduction || story.badge == Badge::kDiagonal ||
         story.badge == Badge::kAntiDiagonal;
}

void head_cell(const Grid& g, const HeadRow& row, int head, const Rect& r) {
  Ui& ui = g.ui;
  const Trace& trace = *g.state.derived.trace;
  const Session& session = g.state.session;
  const std::string number = head_number(*row.step, head);
  const bool chosen = row.step->layer == session.layer && head == session.head &&
                      row.step->section == Section::kAttention;
  bool over = false;
  if (ui.hot("train/head/" + number, r, &over)) {
    ui.push(GoToStep{trace.program().tensors[static_cast<std::size_t>(row.pattern)].name});
    ui.push(ChooseHead{head});
  }
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (over) list->AddRectFilled(r.min(), r.max(), to_u32(ui.theme.selection), ui.px(6));
  if (chosen) list->AddRect(r.min(), r.max(), to_u32(ui.theme.text), ui.px(6), 0, ui.px(1.5f));
  const float pad = ui.px(6), label = ui.px(20);
  const float side = std::min(r.height() - label - pad, r.width() * 0.6f);
  if (side < ui.px(16)) return;
  const Rect map{r.x0 + pad, r.y0 + pad, r.x0 + pad + side, r.y0 + pad + side};
  const Rect line{map.x1 + ui.px(8), map.y0 + ui.px(20), r.x1 - pad, map.y1};
  const bool compared = picture(g, step_page(trace, *row.step, head).lines[0].back(), map,
                                {line.x0, map.y0, line.x1, map.y1}, over);
  ui.drawn.add("train/pattern/" + number, map.min(), map.max());
  HeadStory story;
  if (g.shown)
    story = story_of(g.state.train.run, *g.shown, row.first + static_cast<std::size_t>(head));
  const Color color = is_special(story) ? ui.theme.pattern : ui.theme.text;
  head_name(g, number, story, color, {map.x0, r.y1 - label + ui.px(1), r.x1, r.y1});
  if (!compared && line.width() > ui.px(24)) {
    ui.text(ui.fonts.mono_small, {line.x0, map.y0}, color, cell_number(story.now, kShareCell));
    sparkline(ui, story, g.step, line, color);
  }
  if (over && !map.contains(ImGui::GetIO().MousePos)) {
    const BadgeInfo& info = badge_info(story.kind);
    ui.tooltip(ui.tr(story.badge ? "train.head_tip" : "train.head_tip_near",
                     {{"head", number},
                      {"least", number_text(info.threshold, 2)},
                      {"kind", std::string(ui.tr(info.label))},
                      {"score", number_text(story.now, 3)},
                      {"rows", count_text(story.rows)},
                      {"help", std::string(ui.tr(info.help))}}));
  }
}

// Layers below each other, heads beside each other; more than fit are scrolled to.
void head_grid(const Grid& g, const Rect& r) {
  Ui& ui = g.ui;
  const std::vector<HeadRow> rows = head_rows(g.state, ui);
  int heads = 1;
  float names = ui.px(40);
  for (const HeadRow& row : rows) {
    heads = std::max(heads, row.heads);
    names = std::max(names, ui.measure(ui.fonts.note, row.name).x + ui.px(12));
  }
  const float wide = std::max(ui.px(104), (r.width() - names) / static_cast<float>(heads));
  const float tall = std::clamp((r.height() - ui.px(4)) / static_cast<float>(rows.size()),
                                ui.px(84), std::max(ui.px(84), wide * 0.6f + ui.px(20)));
  ImGui::SetCursorScreenPos(r.min());
  begin_child("train_heads_grid", {r.width(), r.height()},
              ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_HorizontalScrollbar);
  ui.drawn.add("panel/train_heads_grid", r.min(), r.max());
  const ImVec2 at{r.x0 - ImGui::GetScrollX(), r.y0 - ImGui::GetScrollY()};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float y = at.y + static_cast<float>(i) * tall;
    ui.text(ui.fonts.note, {at.x, y + tall / 2 - ui.px(14)}, ui.theme.muted, rows[i].name, names);
    for (int head = 0; head < rows[i].heads; ++head) {
      const float x = at.x + names + static_cast<float>(head) * wide;
      head_cell(g, rows[i], head, {x, y, x + wide - ui.px(6), y + tall - ui.px(4)});
    }
  }
  ImGui::SetCursorScreenPos({at.x + names + static_cast<float>(heads) * wide - ui.px(8),
                             at.y + static_cast<float>(rows.size()) * tall - ui.px(6)});
  ImGui::Dummy({1, 1});
  ImGui::EndChild();
}

void pin_button(const AppState& state, Ui& ui, const Rect& r) {
  const TrainSession& session = state.session.train;
  const RunView& run = state.train.run;
  const bool pinned = session.pinned.has_value();
  const std::string label = pinned ? ui.tr("train.unpin", {{"n", count_text(session.pinned->step)}})
                                   : std::string(ui.tr("train.pin"));
  const float wide = ui.measure(ui.fonts.control, label).x + ui.px(20);
  const Rect button{r.x1 - wide - ui.px(30), r.y0 + ui.px(8), r.x1 - ui.px(30), r.y0 + ui.px(34)};
  if (!ui.button("train/pin", label, button, pinned, !run.snapshots.empty(),
                 ui.tr("train.pin.help")))
    return;
  if (pinned) {
    ui.push(PinStep{});
  } else {
    ui.push(PinStep{RunPoint{run.status.run, shown_step(session, run)}});
  }
}

}  // namespace

void panel_train_heads(const AppState& state, Ui& ui, const Rect& r) {
  ui.begin_panel("heads", r);
  const TrainSession& session = state.session.train;
  const RunView& run = state.train.run;
  const std::int64_t step = shown_step(session, run);
  const bool curve = state.document().model == kRunRef && run.live && has_number_plot(state);
  const std::string title =
      ui.tr(curve ? "train.curve_at" : "train.sentence_at", {{"n", count_text(step)}});
  ui.text(ui.fonts.strong, {r.x0 + ui.px(18), r.y0 + ui.px(13)}, ui.theme.text, title);
  pin_button(state, ui, r);
  const float x = r.x0 + ui.px(32) + ui.measure(ui.fonts.strong, title).x;
  const std::string_view hint =
      ui.tr(session.pinned && state.train.pinned ? "train.difference_hint" : "train.heads_hint");
  if (ui.measure(ui.fonts.note, hint).x < r.x1 - ui.px(210) - x)
    ui.text(ui.fonts.note, {x, r.y0 + ui.px(15)}, ui.theme.muted, hint);
  const Rect body{r.x0 + ui.px(16), r.y0 + ui.px(40), r.x1 - ui.px(12), r.y1 - ui.px(6)};
  const auto snapshot = nearest_snapshot(run.snapshots, step);
  if (curve) {
    draw_number_plot(state, ui, body);
  } else if (lacks_pattern(state)) {
    draw_unkept_pattern(state, ui, body);
  } else if (state.derived.trace && state.document().model == kRunRef && run.live) {
    head_grid({state, ui, snapshot.get(), step}, body);
  } else {
    ui.text(ui.fonts.body, {body.x0 + ui.px(2), body.y0 + ui.px(8)}, ui.theme.muted,
            ui.tr("train.no_heads"), body.width());
  }
  ui.end_panel();
}

}  // namespace headlight
