#include "app/ui/stage/stage_layout.h"

#include <algorithm>
#include <cmath>

#include "app/ui/matrix/cell_shape.h"

namespace headlight {
namespace {

bool has_head_bands(const std::vector<PagePane>& line) {
  return std::any_of(line.begin(), line.end(),
                     [](const PagePane& p) { return p.pane.head_columns > 0; });
}

bool has_picked_rows(const std::vector<PagePane>& line) {
  return std::any_of(line.begin(), line.end(),
                     [](const PagePane& p) { return picks_rows(p.pane); });
}

// Do the pane's rows have names that are not those of the first pane of its line? As tokens beside
// the rows of a table of positions, and distances beside tokens.
bool has_other_rows(const PagePane& p, const std::vector<PagePane>& line) {
  const std::string_view own = p.pane.row_axis, first = line.front().pane.row_axis;
  if (p.pane.role == PaneRole::kRowVector || !has_ticks(own)) return false;
  return names_places(own) ? !names_places(first) : own != first;
}

// Whole pixels where there is room, so that cells are equally wide.
float snap(float size) { return size >= 3 ? std::floor(size) : size; }

// Queries against keys stay square, or nearly so. A vocabulary is longer than any sentence: its
// cells would make the rows as low as they are narrow.
bool is_square(const Pane& pane) {
  return names_places(pane.row_axis) && names_places(pane.column_axis) &&
         pane.column_axis != "vocab";
}

void keep_square(const Pane& pane, float& width, float& height) {
  const float most = longest_cell(pane.rows, pane.columns) * std::min(width, height);
  width = snap(std::min(width, most));
  height = snap(std::min(height, most));
}

constexpr float kBesideLabels = 14;  // design pixels that names of rows keep free beside them

float fit(float room, std::int64_t count, float largest) {
  const float each = room / static_cast<float>(std::max<std::int64_t>(count, 1));
  return snap(std::clamp(each, 0.0f, largest));
}

const PagePane* find_role(const std::vector<PagePane>& line, PaneRole role) {
  for (const PagePane& p : line) {
    if (p.pane.role == role) return &p;
  }
  return nullptr;
}

PlacedPane placed(const PagePane& p, float x, float y, float cw, float ch, float caption_room) {
  const float width = cw * static_cast<float>(p.pane.columns);
  const float height = ch * static_cast<float>(p.pane.rows);
  PlacedPane out;
  out.pane = &p;
  out.rect = {x, y, x + width, y + height};
  out.cell_w = cw;
  out.cell_h = ch;
  out.caption_room = caption_room;
  out.rows = {y, height, ch, 0, p.pane.rows};
  out.columns = {x, width, cw, 0, p.pane.columns};
  return out;
}

// A row of its own over a matrix: high enough for numbers where its cells are wide enough.
float vector_height(float cell_width, float unit) {
  return (cell_width >= 26 * unit ? 18 : 12) * unit;
}

bool is_narrow(const Rect& area, float unit) { return area.width() < 300 * unit; }

// In a low place the matrices come before the words above them: is there room for both? `height` is
// what the rows have beside those words.
bool room_for_labels(float height, std::int64_t rows, float unit) {
  return height >= 4 * unit * static_cast<float>(std::min<std::int64_t>(rows, 12));
}

// left × top = result: the product stands where row and column meet.
StagePlacement place_product(const std::vector<PagePane>& line, const Rect& area,
                             const StageMeasures& m, float unit) {
  const PagePane& left = *find_role(line, PaneRole::kLeft);
  const PagePane& top = *find_role(line, PaneRole::kTop);
  const PagePane& result = line.back();
  const PagePane* vector = find_role(line, PaneRole::kRowVector);
  const bool tokens = has_ticks(result.pane.column_axis);
  // Room for the words beside the upper operand; in a narrow place for its name alone.
  const float side_caption = is_narrow(area, unit) ? 44 * unit : m.side_caption;
  const float side = side_caption - 12 * unit;
  // Keys name the columns of the left operand and the rows of the upper one: slanted names need
  // room beside each other.
  const bool keys = names_places(left.pane.column_axis) && area.width() >= 520 * unit;
  const float gap = keys ? m.column_label_height : m.gap;
  const float width = area.width() - m.row_label_width - gap - side_caption;
  float cw = fit(width * 0.6f, result.pane.columns, m.square_cell);
  const bool shares = vector && vector->pane.column_follow == Follow::kColumn;
  const float vector_h = vector_height(shares ? cw : 0, unit);
  const float strip = vector ? vector_h + m.gap * 0.6f : 0;
  const float rest = area.height() - 2 * m.caption_height - m.gap - strip;
  const float for_rows = 0.7f * (rest - m.column_label_height);
  const bool labelled = tokens && room_for_labels(for_rows, result.pane.rows, unit);
  const bool banded = top.pane.head_columns > 0 &&
                      room_for_labels(0.7f * (rest - m.band_height), result.pane.rows, unit);
  const float labels = labelled ? m.column_label_height : banded ? m.band_height : 0;
  const float height = rest - labels;
  float ch = fit(height * 0.7f, result.pane.rows, m.max_cell);
  if (is_square(result.pane)) keep_square(result.pane, cw, ch);
  const float used_h = ch * static_cast<float>(result.pane.rows);
  const float used_w = cw * static_cast<float>(result.pane.columns);
  const float low = 0.4f * m.max_cell, inner = 0.53f * m.max_cell;
  const float th = fit(std::min(height - used_h, area.height() * 0.4f), top.pane.rows, low);
  const float lw = fit(std::min(width - used_w, area.width() * 0.4f), left.pane.columns,
                       std::min(inner, std::max(cw, low)));

  const float left_w = lw * static_cast<float>(left.pane.columns);
  const float top_h = th * static_cast<float>(top.pane.rows);
  const float total_w = left_w + gap + m.row_label_width + used_w + side_caption;
  const float total_h = labels + top_h + strip + m.caption_height + used_h + m.caption_height;
  const float x0 = std::round(area.x0 + std::max(0.0f, (area.width() - total_w) / 2));
  const float y0 = std::round(area.y0 + std::max(0.0f, (area.height() - total_h) / 2));
  const float rx = std::round(x0 + left_w + gap + m.row_label_width);
  const float ty = std::round(y0 + labels);
  // The heads' bands and numbers stand over the result.
  const float over = std::max(m.caption_height * 0.7f, banded ? 22 * unit : 0);
  const float ry = std::round(ty + top_h + strip + over);

  StagePlacement out;
  const float beyond = std::min(20 * unit, x0 - area.x0 + 12 * unit);  // of the caption
  out.panes.push_back(placed(left, x0, ry, lw, ch, left_w + 2 * beyond));
  out.panes.back().column_labels = keys && ry - area.y0 >= m.column_label_height;
  out.panes.push_back(placed(top, rx, ty, cw, th, side));
  out.panes.back().row_labels = keys;
  out.panes.back().column_labels = labelled;
  out.panes.back().head_numbers = banded;
  out.panes.back().caption_beside = true;
  if (vector) {
    out.panes.push_back(
        placed(*vector, rx, ty + top_h + m.gap * 0.6f, shares ? cw : th, vector_h, side));
    out.panes.back().head_numbers = false;  // over it stands the matrix
  }
  out.panes.push_back(placed(result, rx, ry, cw, ch, used_w + m.row_label_width));
  out.panes.back().row_labels = true;
  out.panes.back().head_numbers = banded;
  for (PlacedPane& p : out.panes) p.label_room = m.row_label_width - kBesideLabels * unit;
  return out;
}

constexpr float kReadableRow = 14;

// Operands in a row, then the result; row vectors lie above what they act on.
void place_line(const StepPage& page, const std::vector<PagePane>& line, const Rect& area,
                const StageMeasures& m, float unit, StagePlacement& out) {
  const std::string_view sign = page.sign;
  std::int64_t columns = 0, rows = 1;
  int matrices = 0, vectors = 0, single = 0;
  bool square = true, named = false, words = false;
  for (const PagePane& p : line) {
    if (p.pane.role == PaneRole::kRowVector) {
      ++vectors;
      continue;
    }
    ++matrices;
    columns += p.pane.columns;
    single += p.pane.columns == 1;
    words |= p.pane.columns == 1 && !p.amounts;
    rows = std::max(rows, p.pane.rows);
    square &= names_places(p.pane.column_axis);
    named |= has_ticks(p.pane.column_axis);
  }
  // Many operands (the heads of a concatenation) stand close, without signs.
  const bool many = matrices > 4;
  const bool picks = has_picked_rows(line);
  const bool renamed = std::any_of(line.begin(), line.end(),
                                   [&](const PagePane& p) { return has_other_rows(p, line); });
  const float between = picks     ? m.row_label_width + 90 * unit
                        : renamed ? m.row_label_width + m.between_width
                        : many
                            ? 10 * unit
                            : std::max(m.between_width, page.arrow.empty() ? 0.0f : m.arrow_width);
  const float width = area.width() -
                      m.row_label_width * static_cast<float>(square ? 1 : matrices > 0) -
                      between * static_cast<float>(matrices - 1);
  // One column alone has room for its number, or a short name, beside matrices of many.
  const float alone = columns > single ? (words ? 60 : 40) * unit : 0;
  float cw = fit(width, columns, m.square_cell);
  if (single > 0 && cw < alone)
    cw = fit(width - alone * static_cast<float>(single), columns - single, alone);
  const auto cell_width = [&](const PagePane& p) {
    return p.pane.columns == 1 ? std::max(cw, alone) : cw;
  };
  const float vector_h = vector_height(cw, unit);
  const float vector_step = vector_h + 8 * unit;  // their names stand beside them
  const float strip = static_cast<float>(vectors) * vector_step;
  const float for_rows = area.height() - m.caption_height - strip - m.column_label_height;
  const bool labelled = named && room_for_labels(for_rows, rows, unit);
  const bool numbered =
      room_for_labels(area.height() - m.caption_height - strip - m.band_height, rows, unit);
  const float labels = labelled                           ? m.column_label_height
                       : square                           ? 4 * unit
                       : has_head_bands(line) && numbered ? m.band_height
                       : has_head_bands(line)             ? 7 * unit
                                                          : 0;
  const float height = area.height() - m.caption_height - labels - strip;
  float ch = fit(height, rows, m.max_cell);
  if (square && is_square(line.back().pane)) keep_square(line.back().pane, cw, ch);

  const float total_w = m.row_label_width + cw * static_cast<float>(columns - single) +
                        std::max(cw, alone) * static_cast<float>(single) +
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
      const float end = first_x + cw * static_cast<float>(p.pane.columns);
      const float room = std::max(area.x1 - end - 14 * unit, unit);
      out.panes.push_back(placed(p, first_x, vector_y, cw, vector_h, room));
      vector_y += vector_step;
      continue;
    }
    x = std::round(x);
    // Beside a matrix of more rows, a table or weights, rows are as high as they can be read.
    const bool lower = p.pane.rows < rows && ch < kReadableRow * unit;
    const float high = lower ? fit(height, p.pane.rows, kReadableRow * unit) : ch;
    const float top =
        y +
        std::round((ch * static_cast<float>(rows) - high * static_cast<float>(p.pane.rows)) / 2);
    const float own = cell_width(p);
    // Half of what lies between two matrices; at the end as far from the legend as from a matrix.
    const float end = x + own * static_cast<float>(p.pane.columns);
    const float beyond = std::min(between / 2 - 3 * unit, std::max(area.x1 - end, 0.0f) + 4 * unit);
    out.panes.push_back(placed(p, x, top, own, high, end - x + 2 * beyond));
    PlacedPane& last = out.panes.back();
    last.label_room = m.row_label_width - kBesideLabels * unit;
    last.row_labels = index == 0 || picks || has_other_rows(p, line);
    last.column_labels = labelled && has_ticks(p.pane.column_axis);
    last.head_numbers = numbered;
    x = last.rect.x1;
    ++index;
    if (index < matrices) {
      const bool before_result = index == matrices - 1;
      if (!many && !picks) {
        const float half = (renamed ? m.between_width : between) / 2;  // before the names
        out.signs.push_back({x + half, middle,
                             before_result  ? "→"
                             : sign.empty() ? " "
                                            : sign,
                             before_result});
        if (before_result && !sign.empty()) out.signs.back().text = "=";
        if (page.backward) out.signs.back().text = before_result ? "←" : " ";
      }
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
    place_line(page, page.lines[i], part, m, unit, out);
  }
  return out;
}

namespace {

constexpr float kLargestCell = 44;  // design pixels: room for a number
constexpr float kRoomyCell = 18;    // cells of this size are not zoomed into

// Panes of the page belong together by axis where they follow the result of their line.
const Pane& result_beside(const StepPage& page, const PagePane* pane) {
  for (const auto& line : page.lines) {
    if (pane >= line.data() && pane < line.data() + line.size()) return line.back().pane;
  }
  return pane->pane;
}

struct CellSize {
  float w = 0, h = 0;
};

// The cells of the result when the page stands in `area`; 0 where it does not fit at all.
CellSize result_cell(const StepPage& page, const Rect& area, const StageMeasures& m, float unit) {
  if (area.width() < 120 * unit || area.height() < 90 * unit) return {};
  const StagePlacement placement = place_page(page, area, m, unit);
  for (const PlacedPane& p : placement.panes) {
    if (p.rect.width() < 8 * unit || p.rect.height() < 5 * unit) return {};
    if (p.rect.x1 > area.x1 + 1 || p.rect.y1 > area.y1 + 1) return {};
  }
  return {placement.panes.back().cell_w, placement.panes.back().cell_h};
}

// Are cells still large enough beside what they would be without company?
bool good_enough(float cell, float whole, float least, float unit) {
  return cell > 0 && (cell >= least * whole || cell >= 10 * unit);
}

}  // namespace

bool StagePlacement::can_zoom() const {
  return std::any_of(axes.begin(), axes.end(), [](const PlacedAxis& a) { return a.most > 1; });
}

bool StagePlacement::sees_all() const {
  return std::all_of(panes.begin(), panes.end(), [](const PlacedPane& p) { return p.sees_all(); });
}

void apply_view(StagePlacement& placement, const StepPage& page, const StageView& view,
                float unit) {
  placement.axes = {};
  const auto note = [&](PageAxis axis, const AxisWindow& whole, std::string_view word) {
    PlacedAxis& a = placement.axes[static_cast<std::size_t>(axis)];
    const bool small = whole.cell > 0 && whole.cell < kRoomyCell * unit && whole.count > 1;
    const float most = small ? kLargestCell * unit / whole.cell : 1;
    if (a.whole.count == 0) {
      a = {whole, whole, axis_kind(word), most};
    } else {
      a.most = std::min(a.most, most);
    }
  };
  // The result first: its axes are the page's.
  for (auto p = placement.panes.rbegin(); p != placement.panes.rend(); ++p) {
    const Pane &pane = p->pane->pane, &result = result_beside(page, p->pane);
    const bool own_row = pane.role == PaneRole::kRowVector;
    const bool rows = pane.row_follow == Follow::kRow && pane.rows == result.rows;
    // Beside its result an operand has the same columns, even where each cell needs the whole row.
    const bool beside = page.layout == Layout::kRow && pane.column_axis == result.column_axis;
    const bool columns = (pane.column_follow == Follow::kColumn || beside) &&
                         pane.columns == result.columns && pane.column_shift == 0;
    p->row_axis = rows || own_row ? PageAxis::kRows : PageAxis::kInner;
    p->column_axis = columns ? PageAxis::kColumns : PageAxis::kInner;
    if (!own_row) note(p->row_axis, p->rows, pane.row_axis);
    note(p->column_axis, p->columns, pane.column_axis);
  }
  const auto show = [&](AxisWindow& window, PageAxis axis, std::string_view word) {
    window = look_at(window, axis_kind(word), part(view, axis), placement.axis(axis).most);
  };
  for (PlacedPane& p : placement.panes) {
    if (p.pane->pane.role != PaneRole::kRowVector) show(p.rows, p.row_axis, p.pane->pane.row_axis);
    show(p.columns, p.column_axis, p.pane->pane.column_axis);
    p.cell_h = p.rows.cell;
    p.cell_w = p.columns.cell;
  }
  for (const PageAxis axis : {PageAxis::kRows, PageAxis::kColumns, PageAxis::kInner}) {
    PlacedAxis& a = placement.axes[static_cast<std::size_t>(axis)];
    a.now = look_at(a.whole, a.kind, part(view, axis), a.most);
  }
}

Rect below_matrices(const StagePlacement& placement, const Rect& detail, const StageMeasures& m,
                    const DetailNeed& need, float unit) {
  Rect all{detail.x1, detail.y0, detail.x0, 0};
  for (const PlacedPane& p : placement.panes) {
    all.x0 = std::min(all.x0, p.rect.x0 - (p.row_labels ? m.row_label_width : 0));
    all.x1 = std::max(all.x1, p.rect.x1);
    all.y1 = std::max(all.y1, p.rect.y1);
  }
  const float height = detail.height();
  Rect close = detail;
  close.y0 = std::min(detail.y0, std::round(all.y1 + m.caption_height + 14 * unit));
  close.y1 = close.y0 + height;
  if (need.most_width <= 0 || need.most_width >= detail.width()) return close;
  const float middle = (all.x0 + all.x1 - need.most_width) / 2;
  close.x0 = std::round(std::clamp(middle, detail.x0, detail.x1 - need.most_width));
  close.x1 = close.x0 + need.most_width;
  return close;
}

StageSplit split_stage(const StepPage& page, const Rect& area, const StageMeasures& m,
                       const DetailNeed& need, float unit) {
  const float gap = 20 * unit;
  const Rect left{area.x0, area.y0, area.x1 - need.beside_width - gap, area.y1};
  const Rect upper{area.x0, area.y0, area.x1, area.y1 - need.band_height - gap / 2};
  const bool can_beside = need.beside_width > 0 && area.height() >= need.beside_height;
  const bool can_band = need.band_height > 0 && area.width() >= need.band_width;
  const CellSize whole = result_cell(page, area, m, unit);
  const auto left_over = [&](bool can, const Rect& rest) {
    const CellSize cell = can ? result_cell(page, rest, m, unit) : CellSize{};
    const bool fits = good_enough(cell.w, whole.w, need.least, unit) &&
                      good_enough(cell.h, whole.h, need.least, unit);
    return fits ? cell.w * cell.h : 0.0f;
  };
  const float beside = left_over(can_beside, left), band = left_over(can_band, upper);
  if (std::max(beside, band) <= 0) return {area, {}, false};
  if (beside >= band) return {left, {left.x1 + gap, area.y0, area.x1, area.y1}, true};
  return {upper, {area.x0, upper.y1 + gap / 2, area.x1, area.y1}, true};
}

}  // namespace headlight
