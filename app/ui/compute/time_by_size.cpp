// Time against size: how long a whole run of more and more tokens takes on either.
#include <algorithm>
#include <cmath>

#include "app/ui/compute/compute_view.h"
#include "app/ui/kit/chart.h"
#include "core/base/number_text.h"

namespace headlight {
namespace {

std::vector<ChartPoint> line_of(const SizeChart& sizes, double SizePoint::*time) {
  std::vector<ChartPoint> line;
  for (const SizePoint& p : sizes.points) line.push_back({static_cast<double>(p.tokens), p.*time});
  return line;
}

// What the curves come to, said plainly: for small sizes the graphics card often is no quicker.
std::string verdict(const SizeChart& sizes, const Ui& ui) {
  if (sizes.points.empty()) return {};
  const std::string last = count_text(sizes.points.back().tokens);
  if (sizes.points.size() < 2) return {};
  const std::optional<double> from = crossover(sizes.points);
  if (!from) return ui.tr("compute.never", {{"n", last}});
  if (*from <= static_cast<double>(sizes.points.front().tokens))
    return ui.tr("compute.always",
                 {{"first", count_text(sizes.points.front().tokens)}, {"n", last}});
  return ui.tr("compute.from", {{"n", count_text(static_cast<long long>(std::lround(*from)))}});
}

void name_line(Ui& ui, ImVec2 at, Color color, std::string_view name) {
  ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y + ui.px(7)},
                                            {at.x + ui.px(14), at.y + ui.px(10)}, to_u32(color));
  ui.text(ui.fonts.control, {at.x + ui.px(20), at.y}, ui.theme.text, name);
}

void point_values(Ui& ui, const Chart& chart, const SizeChart& sizes) {
  bool over = false;
  ui.hot("compute/chart", chart.area, &over, true, FocusKind::kSlider);
  if (!over || sizes.points.empty()) return;
  const SizePoint* nearest = nullptr;
  float best = 0;
  for (const SizePoint& p : sizes.points) {
    const float off = std::fabs(chart.at({static_cast<double>(p.tokens), chart.y.low}).x -
                                ImGui::GetIO().MousePos.x);
    if (!nearest || off < best) nearest = &p;
    best = nearest == &p ? off : best;
  }
  ui.tooltip(ui.tr("compute.point", {{"n", count_text(nearest->tokens)},
                                     {"cpu", number_text(nearest->cpu_ms, 3)},
                                     {"gpu", number_text(nearest->gpu_ms, 3)}}));
}

void draw_curves(Ui& ui, const Rect& r, const SizeChart& sizes) {
  Chart chart;
  chart.area = r;
  double low = HUGE_VAL, high = 0;
  for (const SizePoint& p : sizes.points) {
    low = std::min({low, p.cpu_ms, p.gpu_ms});
    high = std::max({high, p.cpu_ms, p.gpu_ms});
  }
  chart.x = axis_around(static_cast<double>(sizes.points.front().tokens),
                        static_cast<double>(sizes.points.back().tokens), true);
  chart.y = axis_around(low, high, true);
  // The sizes that were measured stand below their points.
  for (const SizePoint& p : sizes.points) chart.x_ticks.push_back(static_cast<double>(p.tokens));
  draw_chart_grid(ui, chart, true);
  const std::pair<double SizePoint::*, Color> lines[] = {{&SizePoint::cpu_ms, ui.theme.q},
                                                         {&SizePoint::gpu_ms, ui.theme.k}};
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (const auto& line : lines) {
    const std::vector<ChartPoint> points = line_of(sizes, line.first);
    draw_chart_line(ui, chart, points, line.second, ui.px(1.8f));
    for (const ChartPoint& p : points)
      list->AddCircleFilled(chart.at(p), ui.px(3), to_u32(line.second));
  }
  const std::optional<double> from = crossover(sizes.points);
  if (from && *from > static_cast<double>(sizes.points.front().tokens)) {
    const float x = chart.at({*from, chart.y.low}).x;
    list->AddLine({x, r.y0}, {x, r.y1}, to_u32(ui.theme.text), ui.px(1.5f));
  }
  point_values(ui, chart, sizes);
}

}  // namespace

void compute_sizes(const AppState& state, Ui& ui, const Rect& r) {
  const SizeChart& sizes = state.derived.sizes;
  const std::string label(ui.tr(sizes.measuring        ? "compute.stop"
                                : sizes.points.empty() ? "compute.measure"
                                                       : "compute.again"));
  const float wide = ui.measure(ui.fonts.control, label).x + ui.px(24);
  const bool can =
      sizes.measuring || (state.derived.trace && state.derived.gpu.phase != GpuPhase::kAbsent);
  if (ui.button("compute/measure", label, {r.x1 - wide, r.y0, r.x1, r.y0 + ui.px(28)}, false, can))
    ui.push(MeasureSizes{!sizes.measuring});
  std::string words = !sizes.problem.empty() ? say(ui.language, sizes.problem) : verdict(sizes, ui);
  if (sizes.measuring) {
    const std::int64_t next = sizes.points.empty() ? 4 : 2 * sizes.points.back().tokens;
    words = ui.tr("compute.measuring", {{"n", count_text(next)}});
  }
  if (words.empty()) words = ui.tr("compute.sizes_help");
  const float used =
      ui.wrapped(ui.fonts.body, {r.x0, r.y0 + ui.px(4)}, r.width() - wide - ui.px(20),
                 sizes.problem.empty() ? ui.theme.text : ui.theme.error, words);
  float y = r.y0 + std::max(used + ui.px(4), ui.px(28)) + ui.px(10);
  if (sizes.points.size() < 2) return;
  name_line(ui, {r.x0, y}, ui.theme.q, ui.tr("compute.cpu_long"));
  const float second = ui.measure(ui.fonts.control, ui.tr("compute.cpu_long")).x + ui.px(48);
  name_line(ui, {r.x0 + second, y}, ui.theme.k, ui.tr("compute.gpu_long"));
  const std::string_view unit = ui.tr("compute.axis");
  ui.text_right(ui.fonts.note, r.x1, y + ui.px(2), ui.theme.muted, unit);
  y += ui.px(28);
  const Rect area{r.x0 + ui.px(62), y, r.x1 - ui.px(16), r.y1 - ui.px(26)};
  if (area.height() > ui.px(30)) draw_curves(ui, area, sizes);
}

}  // namespace headlight
