// Charts of a run: from steps and numbers to places, ticks, and as many points as there are pixels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/ui/kit/ui.h"

namespace headlight {

/// One axis: which numbers it spans.
struct ChartAxis {
  double low = 0, high = 1;
  bool logarithmic = false;  // low > 0
  /// 0..1; numbers beyond the ends lie beyond them.
  double place(double value) const;
  double value(double place) const;
};

/// Numbers to write at an axis, ascending: 1, 2 or 5 times a power of ten, at most `most` of them.
std::vector<double> chart_ticks(const ChartAxis&, int most);

/// An axis around these numbers, with a little room; only finite ones (and of a logarithmic axis
/// positive ones) count. 0 to 1 when there is none.
ChartAxis axis_around(double low, double high, bool logarithmic);

/// How long a bar for `share` (0 to 1) of `room` is: nothing for zero and NaN, at least `hair` for
/// all else, so that no longer one is ever drawn shorter.
float bar_length(float room, double share, float hair);

/// A line of a chart: value(i) at step(i).
struct ChartPoint {
  double x = 0, y = 0;
};

/// The same line with at most two points for each of `columns` stretches of the x axis: the lowest
/// and the highest, in their order, so that no spike is lost. Points that are no number are left
/// out.
std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& line, const ChartAxis& x,
                                int columns);

struct Chart {
  Rect area;
  ChartAxis x, y;
  std::vector<double> x_ticks = {};  // numbers to write below; empty: chosen by the axis
  ImVec2 at(ChartPoint p) const {
    return {area.x0 + static_cast<float>(x.place(p.x)) * area.width(),
            area.y1 - static_cast<float>(y.place(p.y)) * area.height()};
  }
};

/// Lines across at the ticks, with their numbers at the left.
void draw_chart_rows(Ui&, const Chart&);
/// The same, and numbers below.
void draw_chart_grid(Ui&, const Chart&, bool whole_x);
/// A polyline, clipped to the chart's area.
void draw_chart_line(Ui&, const Chart&, const std::vector<ChartPoint>&, Color, float width);

}  // namespace headlight
