#include "app/ui/kit/chart.h"

#include <algorithm>
#include <cmath>

#include "core/base/number_text.h"

namespace headlight {

double ChartAxis::place(double value) const {
  if (logarithmic) return (std::log(value) - std::log(low)) / (std::log(high) - std::log(low));
  return (value - low) / (high - low);
}

double ChartAxis::value(double place) const {
  if (logarithmic) return low * std::pow(high / low, place);
  return low + place * (high - low);
}

float bar_length(float room, double share, float hair) {
  if (!(share > 0)) return 0;
  return std::clamp(room * static_cast<float>(share), std::min(hair, room), room);
}

ChartAxis axis_around(double low, double high, bool logarithmic) {
  if (!std::isfinite(low) || !std::isfinite(high) || low > high) return {0, 1, false};
  if (logarithmic && low <= 0) return axis_around(low, high, false);
  if (logarithmic) {
    const double room = std::max(std::pow(high / low, 0.06), 1.05);
    return {low / room, high * room, true};
  }
  const double room = high > low ? 0.06 * (high - low) : std::max(std::fabs(high) * 0.1, 0.1);
  // Losses, shares and rates begin at 0: an axis that does so shows how much is left.
  const double bottom = low >= 0 && low < 0.6 * high ? 0 : low - room;
  return {bottom, high + room, false};
}

std::vector<double> chart_ticks(const ChartAxis& axis, int most) {
  std::vector<double> ticks;
  if (axis.logarithmic) {
    // All of 1, 2, 5; or 1, 3; or 1 alone; or every second power …
    const int first = static_cast<int>(std::floor(std::log10(axis.low)));
    const int last = static_cast<int>(std::ceil(std::log10(axis.high)));
    const std::vector<std::vector<double>> digits = {{1, 2, 5}, {1, 3}, {1}};
    for (std::size_t choice = 0; choice < digits.size() + 20; ++choice) {
      ticks.clear();
      const int every = choice < digits.size() ? 1 : static_cast<int>(choice - digits.size()) + 2;
      for (int power = first; power <= last; power += every) {
        for (const double digit : digits[std::min(choice, digits.size() - 1)]) {
          const double tick =
              power < 0 ? digit / std::pow(10.0, -power) : digit * std::pow(10.0, power);
          if (tick >= axis.low && tick <= axis.high) ticks.push_back(tick);
        }
      }
      if (static_cast<int>(ticks.size()) <= most) break;
    }
    if (ticks.size() >= 2) return ticks;
  }
  ticks.clear();
  const double wanted = (axis.high - axis.low) / std::max(most, 1);
  double unit = std::pow(10.0, std::floor(std::log10(wanted)));
  for (const double digit : {1.0, 2.0, 5.0, 10.0}) {
    if (unit * digit >= wanted) {
      unit *= digit;
      break;
    }
  }
  for (double i = std::ceil(axis.low / unit - 1e-9); i * unit <= axis.high + unit * 1e-9; ++i)
    ticks.push_back(i * unit);
  return ticks;
}

std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& line, const ChartAxis& x,
                                int columns) {
  std::vector<ChartPoint> out;
  const auto column_of = [&](const ChartPoint& p) {
    return static_cast<int>(std::floor(x.place(p.x) * columns));
  };
  std::size_t begin = 0;
  while (begin < line.size()) {
    const int column = column_of(line[begin]);
    std::size_t end = begin, lowest = line.size(), highest = line.size();
    for (; end < line.size() && column_of(line[end]) == column; ++end) {
      if (!std::isfinite(line[end].y)) continue;
      if (lowest == line.size() || line[end].y < line[lowest].y) lowest = end;
      if (highest == line.size() || line[end].y > line[highest].y) highest = end;
    }
    if (lowest != line.size()) {
      out.push_back(line[std::min(lowest, highest)]);
      if (lowest != highest) out.push_back(line[std::max(lowest, highest)]);
    }
    begin = end;
  }
  return out;
}

namespace {

// "1,000" as in all counts, "0.05" as it is.
std::string tick_text(double tick) {
  if (tick == std::floor(tick) && std::fabs(tick) < 1e9)
    return count_text(static_cast<long long>(tick));
  return exact_number(static_cast<float>(tick));
}

// As many of those that are wanted as have room, evenly left out.
std::vector<double> x_ticks(const Chart& chart, int most) {
  if (chart.x_ticks.empty()) return chart_ticks(chart.x, most);
  const std::size_t count = chart.x_ticks.size(), room = static_cast<std::size_t>(most);
  std::vector<double> ticks;
  for (std::size_t i = 0; i < count; i += (count + room - 1) / room)
    ticks.push_back(chart.x_ticks[i]);
  return ticks;
}

}  // namespace

void draw_chart_rows(Ui& ui, const Chart& chart) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Rect& r = chart.area;
  ImFont* font = ui.fonts.mono_small;
  const int rows = std::clamp(static_cast<int>(r.height() / ui.px(34)), 2, 7);
  for (const double tick : chart_ticks(chart.y, rows)) {
    const float y = std::round(chart.at({chart.x.low, tick}).y);
    list->AddLine({r.x0, y}, {r.x1, y}, to_u32(ui.theme.line));
    ui.text_right(font, r.x0 - ui.px(8), y - font_size(font) / 2, ui.theme.muted, tick_text(tick));
  }
}

void draw_chart_grid(Ui& ui, const Chart& chart, bool whole_x) {
  draw_chart_rows(ui, chart);
  const Rect& r = chart.area;
  ImFont* font = ui.fonts.mono_small;
  const int columns = std::clamp(static_cast<int>(r.width() / ui.px(90)), 2, 8);
  for (const double tick : x_ticks(chart, columns)) {
    if (whole_x && tick != std::floor(tick)) continue;
    const std::string text = tick_text(tick);
    const float x = chart.at({tick, chart.y.low}).x, half = ui.measure(font, text).x / 2;
    ui.text(font, {std::clamp(x - half, r.x0 - ui.px(20), r.x1 - half), r.y1 + ui.px(5)},
            ui.theme.muted, text);
  }
}

void draw_chart_line(Ui& ui, const Chart& chart, const std::vector<ChartPoint>& line, Color color,
                     float width) {
  std::vector<ImVec2> points;
  const int columns = std::max(1, static_cast<int>(chart.area.width()));
  for (const ChartPoint& p : thinned(line, chart.x, columns)) {
    if (chart.y.logarithmic && p.y <= 0) continue;
    points.push_back(chart.at(p));
  }
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Rect& r = chart.area;
  list->PushClipRect({r.x0 - 1, r.y0 - ui.px(2)}, {r.x1 + 1, r.y1 + ui.px(2)}, true);
  if (points.size() == 1) {
    list->AddCircleFilled(points[0], ui.px(2.5f), to_u32(color));
  } else {
    list->AddPolyline(points.data(), static_cast<int>(points.size()), to_u32(color), 0, width);
  }
  list->PopClipRect();
}

}  // namespace headlight
