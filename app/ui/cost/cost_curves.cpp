// Memory and multiply-adds of a run against the number of tokens.
#include <algorithm>
#include <cmath>

#include "app/ui/cost/cost_view.h"
#include "app/ui/kit/chart.h"
#include "core/base/number_text.h"

namespace headlight {
namespace {

// What is drawn of each point, in millions.
struct CurveLine {
  double CostPoint::*number;
  Color color;
  std::string_view name;
};

const CostPoint* point_under_mouse(const Chart& chart, const std::vector<CostPoint>& curve) {
  const CostPoint* nearest = nullptr;
  float best = 0;
  for (const CostPoint& p : curve) {
    const float off = std::fabs(chart.at({static_cast<double>(p.tokens), chart.y.low}).x -
                                ImGui::GetIO().MousePos.x);
    if (!nearest || off < best) nearest = &p;
    best = nearest == &p ? off : best;
  }
  return nearest;
}

void draw_curve(const ModelCost& m, Ui& ui, const Rect& r, std::string_view id,
                std::span<const CurveLine> lines) {
  Chart chart;
  chart.area = r;
  double low = HUGE_VAL, high = 0;
  for (const CurveLine& line : lines) {
    for (const CostPoint& p : m.curve) {
      if (p.*line.number <= 0) continue;
      low = std::min(low, p.*line.number * 1e-6);
      high = std::max(high, p.*line.number * 1e-6);
    }
  }
  chart.x = axis_around(static_cast<double>(m.curve.front().tokens),
                        static_cast<double>(m.curve.back().tokens), true);
  chart.y = axis_around(low, high, true);
  chart.x_ticks = {4, 256, 16384};
  draw_chart_grid(ui, chart, true);
  for (const CurveLine& line : lines) {
    std::vector<ChartPoint> points;
    for (const CostPoint& p : m.curve)
      points.push_back({static_cast<double>(p.tokens), p.*line.number * 1e-6});
    draw_chart_line(ui, chart, points, line.color, ui.px(1.8f));
  }
  const double own = static_cast<double>(sizes_of(m.config, m.shape).tokens);
  const float x = chart.at({own, chart.y.low}).x;
  if (x >= r.x0 && x <= r.x1)
    ImGui::GetWindowDrawList()->AddLine({x, r.y0}, {x, r.y1}, to_u32(ui.theme.muted), ui.px(1));
  bool over = false;
  ui.hot(id, r, &over, true, FocusKind::kSlider);
  const CostPoint* p = over ? point_under_mouse(chart, m.curve) : nullptr;
  if (!p) return;
  ui.tooltip(ui.tr("cost.point", {{"n", count_text(p->tokens)},
                                  {"memory", bytes_text(p->run_bytes)},
                                  {"pairs", bytes_text(p->pair_bytes)},
                                  {"products", amount_text(ui.language, p->multiply_adds)}}));
}

// The names of the lines, one after the other.
void curve_names(Ui& ui, ImVec2 at, float room, std::string_view title,
                 std::span<const CurveLine> lines) {
  ui.text(ui.fonts.control, at, ui.theme.text, ui.tr(title), room);
  float x = at.x;
  for (const CurveLine& line : lines) {
    if (line.name.empty()) continue;
    const std::string_view name = ui.tr(line.name);
    const float wide = ui.measure(ui.fonts.note, name).x + ui.px(32);
    if (x + wide > at.x + room + ui.px(14)) return;
    ImGui::GetWindowDrawList()->AddRectFilled(
        {x, at.y + ui.px(27)}, {x + ui.px(12), at.y + ui.px(30)}, to_u32(line.color));
    ui.text(ui.fonts.note, {x + ui.px(17), at.y + ui.px(21)}, ui.theme.muted, name);
    x += wide;
  }
}

}  // namespace

float cost_curves(const AppState& state, Ui& ui, const Rect& r) {
  const Derived& d = state.derived;
  if (!d.cost || d.cost->curve.size() < 2) return r.y0;
  const CurveLine memory[] = {{&CostPoint::run_bytes, ui.theme.text, "cost.line.all"},
                              {&CostPoint::pair_bytes, ui.theme.k, "cost.line.pairs"},
                              {&CostPoint::parameter_bytes, ui.theme.q, "cost.line.parameters"}};
  const CurveLine products[] = {{&CostPoint::multiply_adds, ui.theme.v, ""}};
  const float gap = ui.px(76), left = ui.px(52), half = (r.width() - gap - left) / 2;
  const float top = r.y0 + ui.px(46), bottom = top + ui.px(150);
  curve_names(ui, r.min(), half + left, "cost.curve.memory", memory);
  draw_curve(*d.cost, ui, {r.x0 + left, top, r.x0 + left + half, bottom}, "cost/curve/memory",
             memory);
  const float x = r.x0 + left + half + gap;
  curve_names(ui, {x - left, r.y0}, half + left, "cost.curve.products", products);
  draw_curve(*d.cost, ui, {x, top, r.x1, bottom}, "cost/curve/products", products);
  const float axis = bottom + ui.px(22);
  return axis +
         ui.wrapped(ui.fonts.note, {r.x0 + left, axis}, r.width() - left, ui.theme.muted,
                    ui.tr(d.cost->shape.source > 0 ? "cost.curve.source" : "cost.curve.axis"));
}

}  // namespace headlight
