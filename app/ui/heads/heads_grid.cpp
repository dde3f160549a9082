#include "app/ui/heads/heads_grid.h"

#include <algorithm>
#include <cmath>

#include "app/ui/heads/head_cell.h"
#include "app/ui/heads/head_names.h"

namespace headlight {
namespace {

constexpr float kPad = kHeadPad, kCellGap = 4;
constexpr float kWords = 52, kGoodWords = 110, kMostWords = 128;  // beside a picture
constexpr float kUnder = 16;                                      // under it
constexpr float kEdge = 2;  // around the grid, for the frame of a cell
constexpr float kLeastCell = 48, kLeastRow = 38;
constexpr float kLeastPicture = 28, kGoodPicture = 32, kMostPicture = 60;
constexpr float kScrollbar = 12;

// The height of a picture in a row that scrolls: a whole number of pixels for each cell.
float scrolled_picture(float scale, std::int64_t cells) {
  const auto n = static_cast<float>(std::max<std::int64_t>(cells, 1));
  if (n > kMostPicture * scale) return std::round(40 * scale);
  float cell = std::ceil(kGoodPicture * scale / n);
  if (cell * n > kMostPicture * scale && cell > 1) cell -= 1;
  return cell * n;
}

}  // namespace

HeadsGridShape heads_grid_shape(float width, float height, float scale, int rows, int heads,
                                std::int64_t picture_rows, std::int64_t picture_columns) {
  HeadsGridShape s;
  width -= (2 * kEdge - kCellGap) * scale;  // behind the last one is no gap
  height -= (2 * kEdge - kCellGap) * scale;
  const auto across = static_cast<float>(std::max(heads, 1));
  const auto down = static_cast<float>(std::max(rows, 1));
  const float even = std::floor(width / across);
  const float least = (rows > 1 ? kLeastCell : 1.5f * kLeastCell) * scale;
  s.scrolls_across = even < least;
  s.cell_width = std::max(even, least);
  if (s.scrolls_across) height -= kScrollbar * scale;
  const float around = 2 * kPad * scale + kCellGap * scale;
  const float aspect = std::clamp(static_cast<float>(picture_columns) /
                                      static_cast<float>(std::max<std::int64_t>(picture_rows, 1)),
                                  0.5f, 1.6f);
  const auto lay_out = [&](float row_height) {
    s.row_height = std::floor(row_height);
    const float inner = s.row_height - around;
    const float words = std::clamp(0.35f * s.cell_width, kWords * scale, kGoodWords * scale);
    const float beside = s.cell_width - around - words;
    const float under = std::min((inner - kUnder * scale) * aspect, s.cell_width - around);
    // Beside it there is room for more words: a slightly smaller picture is worth that.
    s.beside = std::min(beside, inner * aspect) >= 0.75f * under;
    s.picture_height = s.beside ? inner : inner - kUnder * scale;
    s.picture_width = s.beside ? std::min(beside, inner * 1.6f) : s.cell_width - around;
  };
  const auto picture = [&] {
    return whole_cells(s.picture_width, s.picture_height, picture_rows, picture_columns);
  };
  lay_out(height / down);
  const float wanted = std::min(kLeastPicture * scale, scrolled_picture(scale, picture_rows));
  const bool seen = s.row_height >= (rows > 1 ? kLeastRow * scale : 0.0f) && picture().y >= wanted;
  if (!seen && rows > 1) {
    s.scrolls_down = true;
    const float high = scrolled_picture(scale, picture_rows);
    lay_out(std::max(high + around, kLeastRow * scale));
    if (!s.beside) lay_out(std::max(high + around + kUnder * scale, kLeastRow * scale));
    s.scrolls_down = s.row_height * down > height;
  }
  // Of rows that scroll as many whole ones as can be seen well.
  for (float n = std::floor(height / (kLeastRow * scale)); s.scrolls_down && n >= 1; --n) {
    lay_out(height / n);
    if (picture().y >= wanted) break;
  }
  const ImVec2 drawn = picture();
  if (!s.beside)  // its words stand close under it
    s.row_height = std::min(s.row_height, drawn.y + around + kUnder * scale);
  if (s.beside && !s.scrolls_across)
    s.cell_width = std::min(s.cell_width, drawn.x + around + kMostWords * scale);
  return s;
}

namespace {

// The largest picture of the grid: they may differ, as in an encoder-decoder.
std::pair<std::int64_t, std::int64_t> picture_cells(const HeadsGrid& grid) {
  std::int64_t rows = 1, columns = 1;
  for (const HeadsRow& row : grid.rows) {
    rows = std::max(rows, row.pictures[0].pane.rows);
    columns = std::max(columns, row.pictures[0].pane.columns);
  }
  return {rows, columns};
}

const Step& pattern_step(const AppState& state, const HeadsRow& row) {
  return state.derived.trace->program().steps[static_cast<std::size_t>(row.pattern)];
}

bool is_ready(const AppState& state) {
  const HeadsGrid& grid = state.derived.grid;
  return state.derived.trace && !state.derived.empty &&
         grid.serial == state.derived.trace->serial() && !grid.rows.empty();
}

HeadCell cell_of(const AppState& state, std::size_t row, int head, const Rect& rect,
                 const HeadsGridShape& shape) {
  const HeadsGrid& grid = state.derived.grid;
  HeadCell cell{&grid.rows[row], head, static_cast<int>(row) == grid.current, rect, {}};
  const Pane& pane = cell.row->pictures[static_cast<std::size_t>(head)].pane;
  const ImVec2 picture =
      whole_cells(shape.picture_width, shape.picture_height, pane.rows, pane.columns);
  cell.shape = {rect.width(), rect.height(), picture.x, picture.y, shape.beside};
  return cell;
}

// A head that was chosen elsewhere comes into sight, and stays there when rows become higher.
void follow_chosen(const AppState& state, const Rect& area, const HeadsGridShape& shape) {
  const int row = std::max(state.derived.grid.current, 0), head = state.session.head;
  const int now = row * 1024 + head;
  ImGuiStorage* storage = ImGui::GetStateStorage();
  const ImGuiID id = ImGui::GetID("chosen");
  const ImGuiID wide = ImGui::GetID("chosen/width"), high = ImGui::GetID("chosen/height");
  const bool changed = storage->GetInt(id, 0) != now ||
                       storage->GetFloat(wide) != shape.cell_width ||
                       storage->GetFloat(high) != shape.row_height;
  storage->SetInt(id, now);
  storage->SetFloat(wide, shape.cell_width);
  storage->SetFloat(high, shape.row_height);
  if (!changed) return;
  const float x = static_cast<float>(head) * shape.cell_width;
  const float y = static_cast<float>(row) * shape.row_height;
  if (x < ImGui::GetScrollX() || x + shape.cell_width > ImGui::GetScrollX() + area.width())
    ImGui::SetScrollX(x - (area.width() - shape.cell_width) / 2);
  if (y < ImGui::GetScrollY() || y + shape.row_height > ImGui::GetScrollY() + area.height())
    ImGui::SetScrollY(y - (area.height() - shape.row_height) / 2);
}

// All of them, or of very many the rows in sight and those beside them and the one that is looked
// at, so that keys get there.
std::vector<HeadCell> grid_cells(const AppState& state, const Ui& ui, const Rect& area,
                                 const HeadsGridShape& shape) {
  constexpr std::size_t kMany = 1024;
  const HeadsGrid& grid = state.derived.grid;
  const float gap = ui.px(kCellGap), x0 = area.x0 + ui.px(kEdge) - ImGui::GetScrollX(),
              y0 = area.y0 + ui.px(kEdge) - ImGui::GetScrollY();
  const bool all = grid.rows.size() * grid.rows[0].pictures.size() <= kMany;
  std::vector<HeadCell> cells;
  for (std::size_t row = 0; row < grid.rows.size(); ++row) {
    const float y = y0 + static_cast<float>(row) * shape.row_height;
    const bool near = y + 2 * shape.row_height > area.y0 && y - shape.row_height < area.y1;
    if (!all && !near && static_cast<int>(row) != grid.current) continue;
    for (int head = 0; head < static_cast<int>(grid.rows[row].pictures.size()); ++head) {
      const float x = x0 + static_cast<float>(head) * shape.cell_width;
      const Rect r{x, y, x + shape.cell_width - gap, y + shape.row_height - gap};
      cells.push_back(cell_of(state, row, head, r, shape));
      cells.back().seen = r.x1 > area.x0 && r.x0 < area.x1 && r.y1 > area.y0 && r.y0 < area.y1;
    }
  }
  return cells;
}

float names_width(const AppState& state, const Ui& ui) {
  const std::vector<HeadsRow>& rows = state.derived.grid.rows;
  if (rows.size() < 2) return 0;
  float width = 0;
  for (const HeadsRow& row : rows) {
    const Step& step = pattern_step(state, row);
    width = std::max({width, ui.measure(ui.fonts.strong, layer_name(ui, step)).x,
                      ui.measure(ui.fonts.note, section_name(ui, step)).x});
  }
  return std::round(width + ui.px(10));
}

// The layers' names, left of the rows that are in sight.
void draw_names(const AppState& state, Ui& ui, const Rect& area, const HeadsGridShape& shape,
                float scroll) {
  const HeadsGrid& grid = state.derived.grid;
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->PushClipRect(area.min(), area.max(), true);
  for (std::size_t i = 0; i < grid.rows.size(); ++i) {
    const float middle = area.y0 + ui.px(kEdge) - scroll +
                         (static_cast<float>(i) + 0.5f) * shape.row_height - ui.px(kCellGap) / 2;
    if (middle + shape.row_height / 2 < area.y0 || middle - shape.row_height / 2 > area.y1)
      continue;
    const Step& step = pattern_step(state, grid.rows[i]);
    const bool current = static_cast<int>(i) == grid.current;
    const std::string_view section = section_name(ui, step);
    const float y = section.empty() ? middle - ui.px(9) : middle - ui.px(1);
    if (!section.empty())
      ui.text(ui.fonts.note, {area.x0, middle - ui.px(15)}, ui.theme.muted, section);
    ui.text(current ? ui.fonts.strong : ui.fonts.control, {area.x0, y},
            current ? ui.theme.text : ui.theme.muted, layer_name(ui, step));
  }
  list->PopClipRect();
}

}  // namespace

void draw_heads_grid(const AppState& state, Ui& ui, const Rect& r) {
  if (!is_ready(state)) return;
  const HeadsGrid& grid = state.derived.grid;
  const auto rows = static_cast<int>(grid.rows.size());
  const int heads = static_cast<int>(grid.rows[0].pictures.size());
  const auto [cells_down, cells_across] = picture_cells(grid);
  const float names = names_width(state, ui);
  Rect area{r.x0 + names, r.y0, r.x1, r.y1};
  HeadsGridShape shape = heads_grid_shape(area.width(), area.height(), ui.scale, rows, heads,
                                          cells_down, cells_across);
  if (shape.scrolls_down && !shape.scrolls_across)
    shape = heads_grid_shape(area.width() - ui.px(kScrollbar + 2), area.height(), ui.scale, rows,
                             heads, cells_down, cells_across);
  ImGui::SetCursorScreenPos(area.min());
  const bool down = shape.scrolls_down, across = shape.scrolls_across;
  begin_child("heads_strip", {area.width(), area.height()},
              ImGuiWindowFlags_NoBackground | (across ? ImGuiWindowFlags_HorizontalScrollbar : 0) |
                  (down ? 0 : ImGuiWindowFlags_NoScrollWithMouse) |
                  (across || down ? 0 : ImGuiWindowFlags_NoScrollbar));
  const float wheel = ImGui::GetIO().MouseWheel;
  if (!down && wheel != 0 && ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows))
    ImGui::SetScrollX(ImGui::GetScrollX() - wheel * shape.cell_width);
  follow_chosen(state, area, shape);
  const float scroll = ImGui::GetScrollY();
  std::vector<HeadCell> cells = grid_cells(state, ui, area, shape);
  draw_heads(state, ui, cells);
  if (across || down) {
    ImGui::SetCursorScreenPos(
        {area.x0 - ImGui::GetScrollX() + static_cast<float>(heads) * shape.cell_width - 1,
         area.y0 - scroll + static_cast<float>(rows) * shape.row_height - 1});
    ImGui::Dummy({1, 1});
  }
  ImGui::EndChild();
  if (names > 0) draw_names(state, ui, {r.x0, r.y0, area.x0, r.y1}, shape, scroll);
}

void draw_heads_of_row(const AppState& state, Ui& ui, const Rect& r) {
  if (!is_ready(state) || state.derived.grid.current < 0) return;
  const auto row = static_cast<std::size_t>(state.derived.grid.current);
  const auto heads = static_cast<int>(state.derived.grid.rows[row].pictures.size());
  // As square a grid as fits.
  int columns = 1;
  const auto side_for = [&](int c) {
    const int rows = (heads + c - 1) / c;
    return std::floor(
        std::min(r.width() / static_cast<float>(c), r.height() / static_cast<float>(rows)));
  };
  for (int c = 2; c <= heads; ++c) {
    if (side_for(c) > side_for(columns)) columns = c;
  }
  const float side = side_for(columns), room = side - ui.px(kCellGap + 2 * kPad);
  HeadsGridShape shape;
  shape.picture_width = room;
  shape.picture_height = room - ui.px(kUnder);
  std::vector<HeadCell> cells;
  for (int head = 0; head < heads; ++head) {
    const float x = r.x0 + side * static_cast<float>(head % columns);
    const float y = r.y0 + side * static_cast<float>(head / columns);
    cells.push_back(cell_of(state, row, head,
                            {x, y, x + side - ui.px(kCellGap), y + side - ui.px(kCellGap)}, shape));
  }
  draw_heads(state, ui, cells);
}

}  // namespace headlight
