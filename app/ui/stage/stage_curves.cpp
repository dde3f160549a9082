// Curves beside a page's matrices: the activation with the row's cells on it, and columns of the
// positions as the waves that they are.
#include <algorithm>
#include <cmath>

#include "app/ui/matrix/place_words.h"
#include "app/ui/stage/stage_view.h"
#include "core/base/number_text.h"
#include "core/ops/op.h"

namespace headlight {
namespace {

// A plot: where numbers stand in a rectangle.
struct CurvePlot {
  Rect r;
  double x0 = 0, x1 = 1, y0 = 0, y1 = 1;
  double low_mark = y0, high_mark = y1;  // which numbers are written beside it
  ImVec2 at(double x, double y) const {
    const auto share = [](double v, double low, double high) {
      return static_cast<float>(std::clamp((v - low) / (high - low), -0.2, 1.2));
    };
    return {r.x0 + share(x, x0, x1) * r.width(), r.y1 - share(y, y0, y1) * r.height()};
  }
};

void draw_curve_axes(Ui& ui, const CurvePlot& plot) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRect(plot.r.min(), plot.r.max(), to_u32(ui.theme.line), ui.px(2));
  if (plot.y0 < 0 && plot.y1 > 0)
    list->AddLine(plot.at(plot.x0, 0), plot.at(plot.x1, 0), to_u32(ui.theme.muted));
  if (plot.x0 < 0 && plot.x1 > 0)
    list->AddLine(plot.at(0, plot.y0), plot.at(0, plot.y1), to_u32(ui.theme.muted));
  const float half = font_size(ui.fonts.mono_small) / 2;
  for (const double mark : {plot.low_mark, plot.high_mark}) {
    const float y = std::clamp(plot.at(0, mark).y, plot.r.y0 + ui.px(4), plot.r.y1 - ui.px(4));
    ui.text_right(ui.fonts.mono_small, plot.r.x0 - ui.px(5), y - half, ui.theme.muted,
                  number_text(mark, 3));
  }
}

void polyline(const std::vector<ImVec2>& points, Color color, float thick) {
  ImGui::GetWindowDrawList()->AddPolyline(points.data(), static_cast<int>(points.size()),
                                          to_u32(color), 0, thick);
}

// The chosen point, with a ring in the surface's colour so that it stands out of the others.
void draw_point(Ui& ui, ImVec2 at) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddCircleFilled(at, ui.px(6), to_u32(ui.theme.surface));
  list->AddCircleFilled(at, ui.px(4.5f), to_u32(ui.theme.text));
}

// The plot's rectangle: title above, numbers left and below.
Rect plot_rect(const Ui& ui, const Rect& r) {
  const float height = std::min(r.height(), ui.px(260));
  const float top = r.y0 + (r.height() - height) * 0.4f;
  return {r.x0 + ui.px(48), top + ui.px(24), r.x1 - ui.px(44), top + height - ui.px(18)};
}

void draw_x_range(Ui& ui, const CurvePlot& plot, const std::string& low, const std::string& high,
                  std::string_view axis) {
  const float y = plot.r.y1 + ui.px(3);
  ui.text(ui.fonts.mono_small, {plot.r.x0, y}, ui.theme.muted, low);
  ui.text_right(ui.fonts.mono_small, plot.r.x1, y, ui.theme.muted, high);
  const float width = ui.measure(ui.fonts.note, axis).x;
  ui.text(ui.fonts.note, {(plot.r.x0 + plot.r.x1 - width) / 2, y}, ui.theme.muted, axis);
}

}  // namespace

DetailNeed curve_need(const Ui& ui) { return {ui.px(330), ui.px(170), ui.px(330), ui.px(136)}; }

void draw_activation_curve(const AppState& state, Ui& ui, const Rect& r, const Step& step,
                           const RowDetail& detail) {
  const Trace& trace = *state.derived.trace;
  const OpCall& call = trace.program().calls[static_cast<std::size_t>(step.calls[0])];
  const auto curve = [&](double x) { return op_info(call.op).curve(x, call.params); };
  const std::vector<double>&x = detail.row.lines.front().values,
        &y = detail.row.lines.back().values;
  double low = -3, high = 3;
  for (const double value : x) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  CurvePlot plot{plot_rect(ui, r), low, high, std::min(-0.35, curve(low)),
                 std::max(curve(high), 0.5)};
  for (const double value : y) {
    if (std::isfinite(value)) plot.y0 = plot.low_mark = std::min(plot.y0, value);
  }
  // x, what the gate lets through, and the cell: the same numbers as in the inspector.
  const auto c = static_cast<std::size_t>(detail.chosen);
  // Where the result is a gate, the factor is not called one.
  const bool has_factor = detail.row.lines.size() > 2;
  const bool gate = trace.program().makes(step, Role::kGate);
  const std::string title =
      ui.tr(gate         ? "stage.curve.gate"
            : has_factor ? "stage.curve.cell"
                         : "stage.curve.plain",
            {{"token", place_name(ui, trace, detail.row_axis, detail.position)},
             {"f", std::to_string(detail.chosen)},
             {"x", number_text(x[c], 4)},
             {"gate", number_text(detail.row.lines[1].values[c], 4)},
             {"y", number_text(y[c], 4)}});
  ui.user_text(ui.fonts.control, {r.x0, plot.r.y0 - ui.px(24)}, ui.theme.text, title, r.width());
  draw_curve_axes(ui, plot);
  const auto ends = scale_ends(low, high);
  draw_x_range(ui, plot, ends[0], ends[1], ui.tr("stage.curve.x"));
  ImDrawList* list = ImGui::GetWindowDrawList();
  constexpr int kPoints = 120;
  std::vector<ImVec2> points;
  for (int i = 0; i <= kPoints; ++i) {
    const double at = low + (high - low) * i / kPoints;
    points.push_back(plot.at(at, curve(at)));
  }
  polyline(points, ui.theme.muted, ui.px(1.5f));
  const float half = ui.px(1.75f);
  // The row's cells; of very wide rows as many as can be told apart.
  const std::size_t stride = std::max<std::size_t>(1, x.size() / 1024);
  for (std::size_t i = 0; i < x.size(); i += stride) {
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) continue;
    const ImVec2 at = plot.at(x[i], y[i]);
    const Color color = y[i] < 0 ? ui.theme.negative : ui.theme.positive;
    list->AddRectFilled({at.x - half, at.y - half}, {at.x + half, at.y + half}, to_u32(color));
  }
  if (std::isfinite(x[c]) && std::isfinite(y[c])) draw_point(ui, plot.at(x[c], y[c]));
}

void draw_column_curves(const AppState& state, Ui& ui, const Rect& r, const Step& step,
                        const PagePane& p, ChosenCell cell) {
  const Trace& trace = *state.derived.trace;
  const TensorView t = trace.tensor(p.tensor);
  // A few tokens are but the beginning of a wave.
  constexpr std::int64_t kRows = 100;
  const std::int64_t tokens = p.pane.rows, columns = p.pane.columns;
  const std::int64_t rows = std::max(tokens, kRows);
  const std::int64_t first = trace.config().position_offset;  // where the first token stands
  const auto value = [&](std::int64_t row, std::int64_t c) {
    return static_cast<double>(t.data[pane_flat(p.pane, row, c)]);
  };
  const CurvePlot plot{
      plot_rect(ui, r), 0, std::max(1.0, static_cast<double>(rows - 1)), -1.1, 1.1, -1, 1};
  const std::string title =
      ui.tr("stage.curve.position", {{"f", std::to_string(cell.column)},
                                     {"t", std::to_string(cell.row + first)},
                                     {"y", number_text(value(cell.row, cell.column), 4)}});
  ui.user_text(ui.fonts.control, {r.x0, plot.r.y0 - ui.px(24)}, ui.theme.text, title, r.width());
  draw_curve_axes(ui, plot);
  draw_x_range(ui, plot, std::to_string(first), std::to_string(first + rows - 1),
               ui.tr("stage.curve.t"));
  // Slow and fast ones beside the chosen one, drawn last.
  std::vector<std::int64_t> shown = {0, columns / 4, columns / 2, cell.column};
  std::erase_if(shown, [&](std::int64_t& c) { return &c != &shown.back() && c == cell.column; });
  // A point every other pixel: fast waves turn several times between a few positions.
  const auto most = static_cast<std::int64_t>(plot.r.width() / 2);
  const std::int64_t parts = std::max<std::int64_t>(1, most / rows);
  std::vector<float> taken;
  for (auto c = shown.rbegin(); c != shown.rend(); ++c) {
    const bool chosen = *c == cell.column;
    std::vector<ImVec2> points;
    const std::vector<double> wave = open_column(trace, step, *c, rows, parts);
    for (std::size_t i = 0; i < wave.size(); ++i)
      points.push_back(plot.at(static_cast<double>(i) / static_cast<double>(parts), wave[i]));
    const Color color = chosen ? ui.theme.text : faded(ui.theme.muted, 0.65f);
    polyline(points, color, ui.px(chosen ? 2.0f : 1.25f));
    for (std::int64_t row = 0; rows <= most && row < tokens; ++row) {
      const ImVec2 at = plot.at(static_cast<double>(row), value(row, *c));
      ImGui::GetWindowDrawList()->AddCircleFilled(at, ui.px(chosen ? 2.5f : 1.75f), to_u32(color),
                                                  8);
    }
    // Its name at its right end, where no other name stands.
    const float y = points.back().y - font_size(ui.fonts.mono_small) / 2;
    const bool free = std::none_of(taken.begin(), taken.end(), [&](float other) {
      return std::fabs(other - y) < font_size(ui.fonts.mono_small);
    });
    if (!free) continue;
    taken.push_back(y);
    ui.text(ui.fonts.mono_small, {plot.r.x1 + ui.px(5), y}, chosen ? ui.theme.text : ui.theme.muted,
            "f " + std::to_string(*c));
  }
  draw_point(ui, plot.at(static_cast<double>(cell.row), value(cell.row, cell.column)));
}

}  // namespace headlight
