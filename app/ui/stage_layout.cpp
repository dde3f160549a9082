#include "app/ui/stage_layout.h"

#include <algorithm>
#include <cmath>

namespace headlight {
namespace {

bool is_token_axis(std::string_view axis) {
  return axis == "position" || axis == "query" || axis == "key" || axis == "vocab";
}

// Whole pixels where there is room, so that cells are equally wide.
float snap(float size) { return size >= 3 ? std::floor(size) : size; }

float fit(float room, std::int64_t count, float largest) {
  return snap(std::min(largest, room / static_cast<float>(std::max<std::int64_t>(count, 1))));
}

const PagePane* find_role(const std::vector<PagePane>& line, PaneRole role) {
  for (const PagePane& p : line) {
    if (p.pane.role == role) return &p;
  }
  return nullptr;
}

PlacedPane placed(const PagePane& p, float x, float y, float cw, float ch) {
  return {
      &p,
      {x, y, x + cw * static_cast<float>(p.pane.columns), y + ch * static_cast<float>(p.pane.rows)},
      cw,
      ch,
      false,
      false};
}

// left × top = result: the product stands where row and column meet.
StagePlacement place_product(const std::vector<PagePane>& line, const Rect& area,
                             const StageMeasures& m, float unit) {
  const PagePane& left = *find_role(line, PaneRole::kLeft);
  const PagePane& top = *find_role(line, PaneRole::kTop);
  const PagePane& result = line.back();
  const PagePane* vector = find_role(line, PaneRole::kRowVector);
  const bool labelled = is_token_axis(result.pane.column_axis);
  const float labels = labelled ? m.column_label_height : 0;
  const float strip = vector ? 12 * unit + m.gap * 0.6f : 0;

  const float height = area.height() - labels - 2 * m.caption_height - m.gap - strip;
  const float width = area.width() - m.row_label_width - m.gap - m.side_caption;
  float ch = fit(height * 0.7f, result.pane.rows, m.max_cell);
  float cw = fit(width * 0.6f, result.pane.columns, m.square_cell);
  if (is_token_axis(result.pane.row_axis) && labelled) cw = ch = std::min(cw, ch);
  const float used_h = ch * static_cast<float>(result.pane.rows);
  const float used_w = cw * static_cast<float>(result.pane.columns);
  const float th = fit(std::min(height - used_h, area.height() * 0.4f), top.pane.rows, 12 * unit);
  const float lw = fit(std::min(width - used_w, area.width() * 0.4f), left.pane.columns,
                       std::min(16 * unit, std::max(cw, 12 * unit)));

  const float left_w = lw * static_cast<float>(left.pane.columns);
  const float top_h = th * static_cast<float>(top.pane.rows);
  const float total_w = left_w + m.gap + m.row_label_width + used_w + m.side_caption;
  const float total_h = labels + top_h + strip + m.caption_height + used_h + m.caption_height;
  const float x0 = std::round(area.x0 + std::max(0.0f, (area.width() - total_w) / 2));
  const float y0 = std::round(area.y0 + std::max(0.0f, (area.height() - total_h) / 2));
  const float rx = std::round(x0 + left_w + m.gap + m.row_label_width);
  const float ty = std::round(y0 + labels);
  const float ry = std::round(ty + top_h + strip + m.caption_height * 0.7f);

  StagePlacement out;
  out.panes.push_back(placed(left, x0, ry, lw, ch));
  out.panes.push_back(placed(top, rx, ty, cw, th));
  out.panes.back().column_labels = labelled;
  if (vector) {
    const bool shares = vector->pane.column_follow == Follow::kColumn;
    out.panes.push_back(
        placed(*vector, rx, ty + top_h + m.gap * 0.6f, shares ? cw : th, 12 * unit));
  }
  out.panes.push_back(placed(result, rx, ry, cw, ch));
  out.panes.back().row_labels = true;
  return out;
}

// Operands in a row, then the result; row vectors lie above what they act on.
void place_line(const std::vector<PagePane>& line, std::string_view sign, const Rect& area,
                const StageMeasures& m, float unit, StagePlacement& out) {
  std::int64_t columns = 0, rows = 1;
  int matrices = 0, vectors = 0;
  bool square = true;
  for (const PagePane& p : line) {
    if (p.pane.role == PaneRole::kRowVector) {
      ++vectors;
      continue;
    }
    ++matrices;
    columns += p.pane.columns;
    rows = std::max(rows, p.pane.rows);
    square &= is_token_axis(p.pane.column_axis);
  }
  // Many operands (the heads of a concatenation) stand close, without signs.
  const bool many = matrices > 4;
  const float between = (many ? 10 : 34) * unit;
  const float strip = static_cast<float>(vectors) * (12 * unit + m.caption_height);
  const float labels = square ? m.column_label_height : 0;
  const float width = area.width() -
                      m.row_label_width * static_cast<float>(square ? 1 : matrices > 0) -
                      between * static_cast<float>(matrices - 1);
  const float height = area.height() - m.caption_height - labels - strip;
  float cw = fit(width, columns, m.square_cell);
  float ch = fit(height, rows, m.max_cell);
  if (square) cw = ch = std::min(cw, ch);

  const float total_w = m.row_label_width + cw * static_cast<float>(columns) +
                        between * static_cast<float>(matrices - 1);
  const float total_h = labels + strip + ch * static_cast<float>(rows) + m.caption_height;
  float x = area.x0 + std::max(0.0f, (area.width() - total_w) / 2) + m.row_label_width;
  const float y =
      std::round(area.y0 + std::max(0.0f, (area.height() - total_h) / 2) + labels + strip);
  const float middle = y + ch * static_cast<float>(rows) / 2;
  float vector_y = y - strip;
  const float first_x = std::round(x);
  int index = 0;
  for (const PagePane& p : line) {
    if (p.pane.role == PaneRole::kRowVector) {
      out.panes.push_back(placed(p, first_x, vector_y, cw, 12 * unit));
      vector_y += 12 * unit + m.caption_height;
      continue;
    }
    x = std::round(x);
    const float top = y + std::round(ch * static_cast<float>(rows - p.pane.rows) / 2);
    out.panes.push_back(placed(p, x, top, cw, ch));
    PlacedPane& last = out.panes.back();
    last.row_labels = index == 0;
    last.column_labels = square;
    x = last.rect.x1;
    ++index;
    if (index < matrices) {
      const bool before_result = index == matrices - 1;
      if (!many)
        out.signs.push_back({x + between / 2, middle, before_result || sign.empty() ? "→" : sign});
      if (before_result && !sign.empty()) out.signs.back().text = "=";
      x += between;
    }
  }
}

}  // namespace

StagePlacement place_page(const StepPage& page, const Rect& area, const StageMeasures& m,
                          float unit) {
  if (page.lines.empty()) return {};
  if (page.layout == Layout::kProduct) return place_product(page.lines[0], area, m, unit);
  StagePlacement out;
  const auto lines = static_cast<float>(page.lines.size());
  for (std::size_t i = 0; i < page.lines.size(); ++i) {
    const float top = area.y0 + area.height() * static_cast<float>(i) / lines;
    const Rect part{area.x0, top, area.x1,
                    top + area.height() / lines - (lines > 1 ? 6 * unit : 0)};
    place_line(page.lines[i], page.sign, part, m, unit, out);
  }
  return out;
}

}  // namespace headlight
