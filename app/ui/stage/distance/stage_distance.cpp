#include "app/ui/stage/distance/stage_distance.h"

#include <algorithm>
#include <cmath>

#include "app/ui/kit/chart.h"
#include "core/base/number_text.h"

namespace headlight {
namespace {

// The scores of a page, and what their distances add to them.
class Added {
 public:
  Added(const Trace& trace, TensorId scores)
      : scores_(trace.tensor(scores)),
        whole_(trace.program().tensors[place(scores)].role == Role::kDistanceScores) {
    const Program& program = trace.program();
    const OpCall& call = program.calls[place(program.producer(scores))];
    info_ = &op_info(call.op);
    params_ = &call.params;
    for (const TensorId in : call.in) in_.push_back(trace.tensor(in));
    const bool source = program.tensors[place(scores)].place.stack == Stack::kEncoder;
    offset_ = source ? 0 : program.shape.memory;
    looks_back_ = !source && program.config.mask.is_causal();
  }
  std::int64_t heads() const { return scores_.axes[1].size; }
  std::int64_t keys() const { return scores_.axes[3].size; }
  std::int64_t distance(std::int64_t query, std::int64_t key) const {
    return query + offset_ - key;
  }
  /// Keys that stand behind a query count nothing where no query looks at them.
  std::int64_t last_key(std::int64_t query) const {
    return looks_back_ ? std::min(query + offset_, keys() - 1) : keys() - 1;
  }
  /// All of the cell, or the term that joined the score there.
  double value(std::int64_t head, std::int64_t query, std::int64_t key) const {
    const std::vector<std::int64_t> index = {0, head, query, key};
    if (whole_) return scores_.at(index);
    const OpTerm term = info_->explain({in_, scores_, *params_, nullptr}, index).terms.at(1);
    return term.value * term.factor;
  }
  /// Near keys first.
  std::vector<ChartPoint> line(std::int64_t head, std::int64_t query) const {
    constexpr std::int64_t kMost = 512;
    const std::int64_t last = last_key(query), step = 1 + last / kMost;
    std::vector<ChartPoint> points;
    for (std::int64_t j = last; j >= 0; j -= step) {
      const double y = value(head, query, j);
      if (std::isfinite(y)) points.push_back({static_cast<double>(distance(query, j)), y});
    }
    return points;
  }

 private:
  TensorView scores_;
  bool whole_ = false, looks_back_ = false;
  const OpInfo* info_ = nullptr;
  const OpParams* params_ = nullptr;
  std::vector<TensorView> in_;
  std::int64_t offset_ = 0;
};

struct Lines {
  std::vector<std::vector<ChartPoint>> heads;  // by number
  std::int64_t strong = 0;
};

Chart chart_of(const Ui& ui, const Rect& r, const Lines& lines) {
  double low = 0, high = 0, near = 0, far = 1;
  for (const auto& line : lines.heads) {
    for (const ChartPoint& p : line) {
      low = std::min(low, p.y), high = std::max(high, p.y);
      near = std::min(near, p.x), far = std::max(far, p.x);
    }
  }
  const float height = std::min(r.height(), ui.px(300));
  const Rect area{r.x0 + ui.px(46), r.y0 + ui.px(46), r.x1 - ui.px(52), r.y0 + height - ui.px(36)};
  return {area, {near, far, false}, axis_around(low, high, false)};
}

// Where the names of the lines stand at their far ends: none over another, all beside the chart.
std::vector<std::pair<std::size_t, float>> name_places(const Chart& chart, const Lines& lines,
                                                       float height) {
  std::vector<std::pair<std::size_t, float>> at;
  for (std::size_t h = 0; h < lines.heads.size(); ++h) {
    if (!lines.heads[h].empty()) at.emplace_back(h, chart.at(lines.heads[h].back()).y - height / 2);
  }
  std::ranges::stable_sort(at, {}, [](const auto& name) { return name.second; });
  float from = chart.area.y0 - height / 2;
  for (auto& [h, y] : at) {
    y = std::max(y, from);
    from = y + height;
  }
  float to = chart.area.y1 + height / 2;
  for (auto name = at.rbegin(); name != at.rend(); ++name) {
    name->second = std::min(name->second, to - height);
    to = name->second;
  }
  return at;
}

void draw_lines(Ui& ui, const Chart& chart, const Lines& lines) {
  const auto strong = static_cast<std::size_t>(lines.strong);
  for (const auto& line : lines.heads)
    draw_chart_line(ui, chart, line, faded(ui.theme.muted, 0.6f), ui.px(1.25f));
  draw_chart_line(ui, chart, lines.heads[strong], ui.theme.text, ui.px(2));
  const float height = font_size(ui.fonts.note);
  const auto names = name_places(chart, lines, height);
  const bool all = names.empty() || names.front().second >= chart.area.y0 - height;
  for (const auto& [h, y] : names) {
    if (!all && h != strong) continue;  // more lines than names have room
    ui.text(ui.fonts.note, {chart.area.x1 + ui.px(5), y},
            h == strong ? ui.theme.text : ui.theme.muted,
            ui.tr("stage.distance.head", {{"n", std::to_string(h)}}));
  }
}

// A ring in the surface's colour makes the point stand out of the lines.
void draw_point(Ui& ui, ImVec2 at, float size) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddCircleFilled(at, ui.px(size + 1.5f), to_u32(ui.theme.surface));
  list->AddCircleFilled(at, ui.px(size), to_u32(ui.theme.text));
}

}  // namespace

bool shows_distances(const Trace& trace, const StepPage& page) {
  if (page.backward) return false;
  const Role role = trace.program().tensors[place(page.lines[0].back().tensor)].role;
  return role == Role::kDistanceScores || role == Role::kPlacedScores;
}

// What the page is about: the matrices beside it may be small.
DetailNeed distance_need(const Ui& ui) {
  return {ui.px(300), ui.px(200), ui.px(360), ui.px(190), 0.25f};
}

std::optional<CellPick> draw_distances(const AppState& state, Ui& ui, const Rect& r,
                                       const PagePane& p, ChosenCell cell) {
  constexpr std::int64_t kMostHeads = 16;
  const Trace& trace = *state.derived.trace;
  const Added added(trace, p.tensor);
  const TensorView scores = trace.tensor(p.tensor);
  const std::int64_t query = cell.row;
  Lines lines;
  lines.strong = std::min<std::int64_t>(state.session.head, added.heads() - 1);
  for (std::int64_t h = 0; h < added.heads(); ++h) {
    const bool shown = h < kMostHeads || h == lines.strong;
    lines.heads.push_back(shown ? added.line(h, query) : std::vector<ChartPoint>{});
  }
  const Chart chart = chart_of(ui, r, lines);
  ui.user_text(
      ui.fonts.control, r.min(), ui.theme.text,
      ui.tr("stage.distance", {{"query", token_label(trace.name(scores.axes[2].name, query))}}),
      r.width());
  const std::int64_t key = std::min(cell.column, added.last_key(query));
  const double y = added.value(lines.strong, query, key);
  const std::int64_t distance = added.distance(query, key);
  ui.user_text(ui.fonts.note, {r.x0, r.y0 + ui.px(19)}, ui.theme.muted,
               ui.tr("stage.distance.cell", {{"head", std::to_string(lines.strong)},
                                             {"d", count_text(distance)},
                                             {"y", number_text(y, 4)}}),
               r.width());
  draw_chart_grid(ui, chart, true);
  const std::string_view axis = ui.tr("stage.distance.x");
  ui.user_text(ui.fonts.note, {chart.area.x0, chart.area.y1 + ui.px(19)}, ui.theme.muted, axis,
               r.x1 - chart.area.x0);
  draw_lines(ui, chart, lines);
  if (std::isfinite(y)) draw_point(ui, chart.at({static_cast<double>(distance), y}), 4.0f);
  bool over = false;
  const bool clicked = ui.hot("distance/area", chart.area, &over);
  if (!over && !clicked) return std::nullopt;
  const float share = (ImGui::GetIO().MousePos.x - chart.area.x0) / chart.area.width();
  const auto wanted = static_cast<std::int64_t>(std::lround(chart.x.value(share)));
  const std::int64_t at =
      std::clamp<std::int64_t>(added.distance(query, wanted), 0, added.last_key(query));
  const CellPick pick{std::string(scores.name), {0, lines.strong, query, at}};
  if (clicked) ui.push(PickCell{pick});
  return pick;
}

}  // namespace headlight
