#include "app/ui/stage/stage_zoom.h"

#include <algorithm>
#include <cmath>

#include "app/ui/matrix/legend_view.h"
#include "app/ui/state/commands.h"
#include "core/base/number_text.h"

namespace headlight {
namespace {

constexpr float kWheelStep = 1.3f;  // one notch
constexpr float kButtonStep = 1.6f;

AxisWindow whole_of(const AxisWindow& window) {
  return {window.origin, window.length, window.length / static_cast<float>(window.count), 0,
          window.count};
}

struct PaneAxis {
  PageAxis axis;
  const AxisWindow& window;
  float mouse, dragged;
};

}  // namespace

StageView view_after(const StagePlacement& placement, const PlacedPane& p, const PaneEvents& events,
                     bool paints, StageView view) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const ImVec2 dragged = paints ? ImVec2{} : events.dragged;
  if (events.double_clicked && !paints) return {};
  for (const PaneAxis& a : {PaneAxis{p.row_axis, p.rows, mouse.y, dragged.y},
                            PaneAxis{p.column_axis, p.columns, mouse.x, dragged.x}}) {
    const PlacedAxis& axis = placement.axis(a.axis);
    if (axis.most <= 1 || a.window.count != axis.whole.count) continue;
    AxisView& now = part(view, a.axis);
    const AxisWindow whole = whole_of(a.window);
    if (events.wheel != 0) {
      now = zoomed(whole, axis.kind, now, axis.most, std::pow(kWheelStep, events.wheel), a.mouse);
    }
    if (a.dragged != 0) now = moved(whole, axis.kind, now, axis.most, a.dragged);
  }
  return view;
}

StageView view_after(const StagePlacement& placement, const ViewRequest& request,
                     const CellLink& lit, StageView view) {
  const auto zoom = [&](PageAxis which, std::optional<std::int64_t> about) {
    const PlacedAxis& axis = placement.axis(which);
    if (axis.most <= 1) return;
    const AxisWindow& now = axis.now;
    const bool seen = about && *about < now.count && now.sees(*about);
    const float middle = seen ? now.center(*about) : now.origin + now.length / 2;
    part(view, which) = zoomed(axis.whole, axis.kind, part(view, which), axis.most,
                               std::pow(kButtonStep, static_cast<float>(request.zoom)), middle);
  };
  const auto move = [&](PageAxis which, int steps) {
    const PlacedAxis& axis = placement.axis(which);
    const float pixels = -static_cast<float>(steps) * axis.now.length / 4;
    part(view, which) = moved(axis.whole, axis.kind, part(view, which), axis.most, pixels);
  };
  const auto follow = [&](PageAxis which, std::optional<std::int64_t> cell) {
    const PlacedAxis& axis = placement.axis(which);
    const AxisWindow& now = axis.now;
    if (!cell || *cell >= now.count || now.sees_all()) return;
    const float before = now.origin - now.edge(*cell);
    const float after = now.edge(*cell + 1) - now.origin - now.length;
    const float pixels = before > 0 ? before : after > 0 ? -after : 0;
    part(view, which) = moved(axis.whole, axis.kind, part(view, which), axis.most, pixels);
  };
  if (request.follow) {
    follow(PageAxis::kRows, lit.row);
    follow(PageAxis::kColumns, lit.column);
  }
  const bool result =
      placement.axis(PageAxis::kRows).most > 1 || placement.axis(PageAxis::kColumns).most > 1;
  if (request.zoom != 0) {
    zoom(PageAxis::kRows, lit.row);
    zoom(PageAxis::kColumns, lit.column);
    if (!result) zoom(PageAxis::kInner, {});
  }
  if (request.right != 0) {
    const bool columns = !placement.axis(PageAxis::kColumns).now.sees_all();
    move(columns ? PageAxis::kColumns : PageAxis::kInner, request.right);
  }
  if (request.down != 0) move(PageAxis::kRows, request.down);
  return view;
}

void change_view(const AppState& state, Ui& ui, const StagePlacement& placement,
                 const CellLink& lit, const StageView& view) {
  const StageView next = view_after(placement, state.requests.view, lit, view);
  if (next != state.session.view) ui.push(SetView{next});
}

namespace {

// Buttons, and which rows and columns are shown.
void zoom_controls(Ui& ui, const StagePlacement& placement, const Rect& column, float y) {
  const ImVec2 at{column.x0, y};
  const float width = column.width() - ui.px(12);
  const bool all = placement.sees_all();
  const float side = ui.px(26), gap = ui.px(4), half = (width - gap) / 2;
  const auto help = [&](std::string_view id, Command command) {
    return std::string(ui.tr(id)) + "  " + shortcut_text(command_info(command).key);
  };
  if (ui.button("zoom/out", "−", {at.x, y, at.x + half, y + side}, false, !all,
                help("zoom.out", Command::kZoomOut))) {
    ui.push(DoCommand{Command::kZoomOut});
  }
  if (ui.button("zoom/in", "+", {at.x + half + gap, y, at.x + width, y + side}, false, true,
                help("zoom.in", Command::kZoomIn))) {
    ui.push(DoCommand{Command::kZoomIn});
  }
  y += side + gap;
  if (ui.button("zoom/all", ui.tr("zoom.all"), {at.x, y, at.x + width, y + side}, false, !all,
                help("zoom.all_help", Command::kResetView))) {
    ui.push(DoCommand{Command::kResetView});
  }
  y += side + ui.px(8);
  const auto words = [&](PageAxis which, std::string_view id) {
    const AxisWindow& now = placement.axis(which).now;
    if (now.count == 0 || now.sees_all()) return;
    if (y + ui.px(34) > column.y1) return;
    ui.text(ui.fonts.note, {at.x, y}, ui.theme.muted, ui.tr(id, {{"n", count_text(now.count)}}));
    y += font_size(ui.fonts.note) + ui.px(3);
    ui.text(ui.fonts.mono_small, {at.x, y}, ui.theme.text,
            count_text(now.begin()) + "–" + count_text(now.end() - 1));
    y += font_size(ui.fonts.mono_small) + ui.px(6);
  };
  words(PageAxis::kRows, "zoom.rows");
  words(PageAxis::kColumns, "zoom.columns");
  words(PageAxis::kInner, "zoom.inner");
}

}  // namespace

void draw_stage_side(Ui& ui, const Rect& column, const StagePlacement& placement,
                     const PaneColors& colors, std::string_view title, bool with_choice) {
  const bool zoom = placement.can_zoom();
  const float controls = zoom ? ui.px(64 + (placement.sees_all() ? 0 : 3 * 34)) : 0;
  const float bar = std::clamp(column.height() * 0.3f, ui.px(40), ui.px(92));
  // In a very low window the keys remain.
  with_choice = with_choice && legend_height(ui, bar, colors, true) <= column.height();
  const float legend = legend_height(ui, bar, colors, with_choice);
  if (legend > column.height()) return;
  // Below the last slanted names of a matrix, which reach over here.
  float top = column.y1;
  for (const PlacedPane& p : placement.panes) top = std::min(top, p.rect.y0);
  const float first = std::max(column.y0, std::min(top, column.y1 - legend - controls));
  float y = std::max(first, (column.y0 + column.y1 - legend - ui.px(64) - ui.px(12)) / 2);
  y = std::max(column.y0, std::min(y, column.y1 - legend - controls));
  y += draw_legend(ui, column, y, bar, colors, title, with_choice);
  if (zoom && y + ui.px(64) <= column.y1) zoom_controls(ui, placement, column, y);
}

}  // namespace headlight
