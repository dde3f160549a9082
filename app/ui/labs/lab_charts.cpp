// The charts of a lab: lines with bands, points, bars.
#include <algorithm>
#include <cmath>

#include "app/ui/frame/panels.h"
#include "app/ui/kit/chart.h"
#include "app/ui/kit/field_text.h"
#include "app/ui/labs/labs_view.h"
#include "app/ui/matrix/pane_view.h"
#include "core/base/number_text.h"
#include "core/lab/lab_files.h"

namespace headlight {
namespace {

// A series of a chart, and what it is called there; empty: it is the only one.
struct LabLine {
  const LabSeries* series = nullptr;
  std::string name;
  Color color;
};

std::vector<LabLine> lines_of(const Ui& ui, const Lab& lab, const LabChart& chart,
                              const LabResult& result) {
  std::vector<LabLine> lines;
  const auto add = [&](const std::string& series, std::string name) {
    const auto found = std::ranges::find(result.series, series, &LabSeries::name);
    if (found != result.series.end())
      lines.push_back({&*found, std::move(name), lab_color(ui.theme, lines.size())});
  };
  const std::string id(chart.id);
  if (chart.lines.empty()) add(id, "");
  for (const std::string_view line : chart.lines)
    add(id + "." + std::string(line), std::string(lab_words(ui, lab, "line." + std::string(line))));
  return lines;
}

bool is_drawn(double x, bool logarithmic) { return std::isfinite(x) && (!logarithmic || x > 0); }

// Around all that is drawn; bars begin at zero.
ChartAxis axis_of(const std::vector<LabLine>& lines, bool y, bool logarithmic, bool from_zero) {
  double low = HUGE_VAL, high = -HUGE_VAL;
  const auto take = [&](const std::vector<double>& all) {
    for (const double x : all) {
      if (!is_drawn(x, logarithmic)) continue;
      low = std::min(low, x);
      high = std::max(high, x);
    }
  };
  for (const LabLine& line : lines) {
    take(y ? line.series->y : line.series->x);
    if (!y) continue;
    take(line.series->low);
    take(line.series->high);
  }
  if (from_zero) {
    low = std::min(low, 0.0);
    high = std::max(high, 0.0);
  }
  return axis_around(low, high, logarithmic);
}

void draw_band(const Chart& chart, const LabLine& line) {
  const LabSeries& s = *line.series;
  if (s.low.size() != s.x.size() || s.high.size() != s.x.size()) return;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Rect& r = chart.area;
  list->PushClipRect(r.min(), r.max(), true);
  const ImU32 ink = to_u32(faded(line.color, 0.16f));
  const auto fits = [&](double y) { return chart.y.logarithmic ? std::max(y, chart.y.low) : y; };
  for (std::size_t i = 1; i < s.x.size(); ++i) {
    const ImVec2 a = chart.at({s.x[i - 1], fits(s.low[i - 1])}),
                 b = chart.at({s.x[i - 1], fits(s.high[i - 1])}),
                 c = chart.at({s.x[i], fits(s.high[i])}), d = chart.at({s.x[i], fits(s.low[i])});
    list->AddQuadFilled(a, b, c, d, ink);
  }
  list->PopClipRect();
}

void draw_line(Ui& ui, const Chart& chart, const LabLine& line) {
  const LabSeries& s = *line.series;
  std::vector<ChartPoint> points;
  for (std::size_t i = 0; i < std::min(s.x.size(), s.y.size()); ++i) {
    if (is_drawn(s.x[i], chart.x.logarithmic) && is_drawn(s.y[i], chart.y.logarithmic))
      points.push_back({s.x[i], s.y[i]});
  }
  draw_chart_line(ui, chart, points, line.color, ui.px(1.8f));
  ImDrawList* list = ImGui::GetWindowDrawList();
  if (points.size() > 12) return;
  for (const ChartPoint& p : points)
    list->AddCircleFilled(chart.at(p), ui.px(2.4f), to_u32(line.color));
}

void draw_points(Ui& ui, const Chart& chart, const LabLine& line) {
  const LabSeries& s = *line.series;
  ImDrawList* list = ImGui::GetWindowDrawList();
  std::vector<ImVec2> named;
  const auto crowded = [&](ImVec2 at) {
    return std::ranges::any_of(named, [&](ImVec2 other) {
      return std::fabs(other.y - at.y) < ui.px(12) && std::fabs(other.x - at.x) < ui.px(16);
    });
  };
  for (std::size_t i = 0; i < std::min(s.x.size(), s.y.size()); ++i) {
    if (!is_drawn(s.x[i], chart.x.logarithmic) || !is_drawn(s.y[i], chart.y.logarithmic)) continue;
    const ImVec2 at = chart.at({s.x[i], s.y[i]});
    list->AddCircleFilled(at, ui.px(3.2f), to_u32(line.color));
    if (i >= s.names.size() || crowded(at)) continue;
    named.push_back(at);
    const std::string name = lab_name(ui, s.names[i]);
    const float wide = ui.measure(ui.fonts.note, name).x;
    const bool left = at.x + ui.px(6) + wide > chart.area.x1 + ui.px(20);
    ui.user_text(ui.fonts.note, {left ? at.x - ui.px(6) - wide : at.x + ui.px(6), at.y - ui.px(7)},
                 ui.theme.text, name, wide + 1);
  }
}

// The line of the mark: where the control stands, with each line's number there.
void draw_mark(const AppState& state, Ui& ui, const Chart& chart, const LabChart& form,
               const std::vector<LabLine>& lines) {
  const auto setting = state.labs.result->settings.find(form.at);
  if (form.at.empty() || setting == state.labs.result->settings.end()) return;
  const double at = std::strtod(setting->second.c_str(), nullptr);
  if (!is_drawn(at, chart.x.logarithmic)) return;
  const Rect& r = chart.area;
  const float x = std::round(chart.at({at, chart.y.low}).x);
  if (x < r.x0 - 1 || x > r.x1 + 1) return;
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddLine({x, r.y0}, {x, r.y1}, to_u32(ui.theme.text), ui.px(1));
  std::vector<float> taken;
  for (const LabLine& line : lines) {
    const auto place = std::ranges::find(line.series->x, at);
    if (place == line.series->x.end()) continue;
    const double y = line.series->y[static_cast<std::size_t>(place - line.series->x.begin())];
    if (!is_drawn(y, chart.y.logarithmic)) continue;
    const ImVec2 dot = chart.at({at, y});
    list->AddCircleFilled(dot, ui.px(4), to_u32(ui.theme.surface));
    list->AddCircleFilled(dot, ui.px(3), to_u32(line.color));
    const std::string number = number_text(y, 3);
    const ImVec2 size = ui.measure(ui.fonts.mono_small, number);
    const bool left = x + ui.px(8) + size.x > r.x1;
    float top = std::max(dot.y - ui.px(15), r.y0);
    for (const float other : taken) {
      if (std::fabs(other - top) < ui.px(13)) top = other + ui.px(13);
    }
    taken.push_back(top);
    const ImVec2 from{left ? x - ui.px(8) - size.x : x + ui.px(8), top};
    // No line runs through it.
    list->AddRectFilled({from.x - ui.px(2), from.y}, {from.x + size.x + ui.px(2), from.y + size.y},
                        to_u32(ui.theme.surface));
    ui.text(ui.fonts.mono_small, from, line.color, number);
  }
}

// What each line says at the x that is nearest to the mouse.
void chart_tooltip(Ui& ui, const Chart& chart, const std::vector<LabLine>& lines) {
  const float mouse = ImGui::GetIO().MousePos.x;
  double nearest = 0;
  float best = HUGE_VALF;
  for (const LabLine& line : lines) {
    for (const double x : line.series->x) {
      if (!is_drawn(x, chart.x.logarithmic)) continue;
      const float off = std::fabs(chart.at({x, chart.y.low}).x - mouse);
      if (off < best) best = off, nearest = x;
    }
  }
  if (best == HUGE_VALF) return;
  std::string words = number_text(nearest, 6);
  for (const LabLine& line : lines) {
    const LabSeries& s = *line.series;
    const auto place = std::ranges::find(s.x, nearest);
    if (place == s.x.end()) continue;
    const auto i = static_cast<std::size_t>(place - s.x.begin());
    words += "\n" + (line.name.empty() ? "" : line.name + "   ") +
             exact_number(static_cast<float>(s.y[i]));
    if (i < s.low.size() && i < s.high.size())
      words += "  (" + number_text(s.low[i], 3) + " … " + number_text(s.high[i], 3) + ")";
  }
  const float x = chart.at({nearest, chart.y.low}).x;
  ImGui::GetWindowDrawList()->AddLine({x, chart.area.y0}, {x, chart.area.y1},
                                      to_u32(ui.theme.muted), ui.px(1));
  ui.tooltip(words);
}

// Names of lines, as many in a line as have room. Returns the height.
float line_names(Ui& ui, ImVec2 at, float room, const std::vector<LabLine>& lines) {
  float x = at.x, y = at.y;
  for (const LabLine& line : lines) {
    if (line.name.empty()) continue;
    const float wide = ui.measure(ui.fonts.note, line.name).x + ui.px(30);
    if (x > at.x && x + wide > at.x + room + ui.px(12)) x = at.x, y += ui.px(16);
    ImGui::GetWindowDrawList()->AddRectFilled({x, y + ui.px(6)}, {x + ui.px(12), y + ui.px(9)},
                                              to_u32(line.color));
    ui.text(ui.fonts.note, {x + ui.px(16), y}, ui.theme.muted, line.name, room - ui.px(16));
    x += wide;
  }
  const bool named = std::ranges::any_of(lines, [](const LabLine& l) { return !l.name.empty(); });
  return named ? y + ui.px(20) - at.y : ui.px(4);
}

// ---- bars: a group for each x, a bar for each line ----

void draw_bars(Ui& ui, const Chart& chart, const std::vector<LabLine>& lines) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const Rect& r = chart.area;
  const std::size_t groups = lines[0].series->y.size();
  const float group = r.width() / static_cast<float>(std::max<std::size_t>(groups, 1));
  const float bar = std::max(group * 0.76f / static_cast<float>(lines.size()), 1.0f);
  const float zero = chart.at({0, 0}).y;
  for (std::size_t i = 0; i < groups; ++i) {
    const float x0 = r.x0 + group * static_cast<float>(i) + group * 0.12f;
    for (std::size_t l = 0; l < lines.size(); ++l) {
      const LabSeries& s = *lines[l].series;
      if (i >= s.y.size() || !std::isfinite(s.y[i])) continue;
      const float x = x0 + bar * static_cast<float>(l), y = chart.at({0, s.y[i]}).y;
      list->AddRectFilled({x, std::min(y, zero)}, {x + std::max(bar - 1, 1.0f), std::max(y, zero)},
                          to_u32(lines[l].color));
    }
  }
  list->AddLine({r.x0, zero}, {r.x1, zero}, to_u32(ui.theme.muted));
}

std::string bar_name(const Ui& ui, const LabSeries& s, std::size_t i) {
  return i < s.names.size() ? lab_name(ui, s.names[i])
         : i < s.x.size()   ? number_text(s.x[i], 5)
                            : "";
}

// Level below their bars where all have room there, else slanted. Returns the height.
float bar_names(Ui& ui, const Chart& chart, const LabSeries& s) {
  const Rect& r = chart.area;
  ImFont* font = ui.fonts.note;
  const float group = r.width() / static_cast<float>(std::max<std::size_t>(s.y.size(), 1));
  float widest = 0;
  for (std::size_t i = 0; i < s.y.size(); ++i)
    widest = std::max(widest, ui.measure(font, bar_name(ui, s, i)).x);
  const bool level = widest < group - ui.px(4);
  const float most = ui.px(110), length = std::min(widest, most) * 0.7072f;
  const auto step = static_cast<std::size_t>(label_step(group, font_size(font)));
  for (std::size_t i = 0; i < s.y.size(); i += step) {
    const std::string name = shortened_label(ui, font, bar_name(ui, s, i), most);
    const float wide = ui.measure(font, name).x,
                middle = r.x0 + group * (static_cast<float>(i) + 0.5f);
    if (level) {
      ui.text(font, {middle - wide / 2, r.y1 + ui.px(5)}, ui.theme.muted, name);
    } else {
      // Ends below its bar.
      slanted_text(ui, font,
                   {middle - wide * 0.7072f + ui.px(2), r.y1 + ui.px(14) + wide * 0.7072f},
                   ui.theme.muted, name);
    }
  }
  return level ? ui.px(24) : length + ui.px(24);
}

void bar_tooltip(Ui& ui, const Chart& chart, const std::vector<LabLine>& lines) {
  const LabSeries& first = *lines[0].series;
  const float group =
      chart.area.width() / static_cast<float>(std::max<std::size_t>(first.y.size(), 1));
  const auto i =
      static_cast<std::size_t>(std::max(0.0f, (ImGui::GetIO().MousePos.x - chart.area.x0) / group));
  if (i >= first.y.size()) return;
  std::string words = i < first.names.size() ? lab_name(ui, first.names[i])
                      : i < first.x.size()   ? number_text(first.x[i], 6)
                                             : "";
  for (const LabLine& line : lines) {
    if (i < line.series->y.size())
      words += "\n" + (line.name.empty() ? "" : line.name + "   ") +
               exact_number(static_cast<float>(line.series->y[i]));
  }
  ui.tooltip(words);
}

// Returns where it ends.
float draw_chart(const AppState& state, Ui& ui, const Lab& lab, const LabChart& form, const Rect& r,
                 float plot_height) {
  const std::vector<LabLine> lines = lines_of(ui, lab, form, *state.labs.result);
  const std::string id = "chart." + std::string(form.id);
  float y = r.y0;
  ui.text(ui.fonts.strong, {r.x0, y}, ui.theme.text, lab_words(ui, lab, id), r.width());
  y += ui.px(20);
  y += ui.wrapped(ui.fonts.note, {r.x0, y}, r.width(), ui.theme.muted,
                  lab_words(ui, lab, id + ".y")) +
       ui.px(4);
  y += line_names(ui, {r.x0, y}, r.width(), lines) + ui.px(8);
  const bool bars = form.form == LabChartForm::kBars;
  Chart chart;
  chart.x = axis_of(lines, false, form.log_x, false);
  chart.y = axis_of(lines, true, form.log_y && !bars, bars);
  const float number =
      ui.measure(ui.fonts.mono_small, count_text(static_cast<long long>(chart.y.high))).x;
  chart.area = {r.x0 + std::clamp(number + ui.px(14), ui.px(44), ui.px(90)), y, r.x1 - ui.px(10),
                y + plot_height};
  if (form.log_x && form.form == LabChartForm::kLines && !lines.empty() &&
      lines[0].series->x.size() <= 12)
    chart.x_ticks = lines[0].series->x;
  bars ? draw_chart_rows(ui, chart) : draw_chart_grid(ui, chart, false);  // bars have names below
  for (const LabLine& line : lines) {
    if (form.form == LabChartForm::kLines) draw_band(chart, line);
  }
  if (bars) draw_bars(ui, chart, lines);
  for (const LabLine& line : lines) {
    if (form.form == LabChartForm::kLines) draw_line(ui, chart, line);
    if (form.form == LabChartForm::kPoints) draw_points(ui, chart, line);
  }
  if (!bars) draw_mark(state, ui, chart, form, lines);
  bool over = false;
  ui.hot("lab/chart/" + std::string(form.id), chart.area, &over, true, FocusKind::kGridCell);
  if (over) bars ? bar_tooltip(ui, chart, lines) : chart_tooltip(ui, chart, lines);
  y = chart.area.y1 + (bars ? bar_names(ui, chart, *lines[0].series) : ui.px(24));
  y += ui.wrapped(ui.fonts.note, {chart.area.x0, y}, chart.area.width(), ui.theme.muted,
                  lab_words(ui, lab, id + ".x"));
  return y + ui.px(14);
}

}  // namespace

Color lab_color(const Theme& theme, std::size_t line) {
  const Color colors[] = {theme.k, theme.q, theme.v, theme.pattern};
  if (line < std::size(colors)) return colors[line];
  return head_color(theme, static_cast<int>(line - std::size(colors)), 8);
}

std::string shortened_label(const Ui& ui, ImFont* font, std::string name, float room) {
  if (ui.measure(font, name).x <= room) return name;
  while (!name.empty() && ui.measure(font, name + "…").x > room) {
    name.pop_back();
    // Whole characters only.
    while (!name.empty() && (static_cast<unsigned char>(name.back()) & 0xC0) == 0x80)
      name.pop_back();
    if (!name.empty() && static_cast<unsigned char>(name.back()) >= 0xC0) name.pop_back();
  }
  return name + "…";
}

std::string lab_name(const Ui& ui, const std::string& name) {
  const std::string said = lab_name(ui.language, name);
  if (said != name || name.empty()) return said;
  // Words with a space between them are no token.
  const bool words = name.size() > 2 && name.substr(1, name.size() - 2).find(' ') != name.npos;
  return words ? to_field_text(name) : token_label(name);
}

float lab_charts(const AppState& state, Ui& ui, const Lab& lab, const Rect& r) {
  const LabResult& result = *state.labs.result;
  std::vector<const LabChart*> shown;
  for (const LabChart& chart : lab.charts) {
    if (!lines_of(ui, lab, chart, result).empty()) shown.push_back(&chart);
  }
  if (shown.empty()) return r.y0;
  const float gap = ui.px(26);
  const std::size_t most = r.width() >= ui.px(780) ? 3 : r.width() >= ui.px(480) ? 2 : 1;
  const std::size_t in_line = std::min(shown.size() == 4 && most == 3 ? 2 : most, shown.size());
  const float wide =
      (r.width() - gap * static_cast<float>(in_line - 1)) / static_cast<float>(in_line);
  float y = r.y0;
  for (std::size_t i = 0; i < shown.size();) {
    float lowest = y;
    for (std::size_t n = 0; n < in_line && i < shown.size(); ++n, ++i) {
      const float x = r.x0 + (wide + gap) * static_cast<float>(n);
      lowest = std::max(lowest, draw_chart(state, ui, lab, *shown[i], {x, y, x + wide, r.y1},
                                           ui.px(in_line == 1 ? 200 : 170)));
    }
    y = lowest + ui.px(8);
  }
  return y;
}

}  // namespace headlight
