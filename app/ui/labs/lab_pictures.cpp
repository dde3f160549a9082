// The pictures of a lab: matrices of one name side by side.
#include <algorithm>
#include <cmath>

#include "app/ui/frame/panels.h"
#include "app/ui/labs/labs_view.h"
#include "app/ui/matrix/pane_view.h"
#include "core/base/number_text.h"
#include "core/lab/lab_files.h"

namespace headlight {
namespace {

using Pictures = std::vector<const LabPicture*>;

// How pictures of one name are drawn.
struct Grid {
  float side = 0;   // a cell's
  float names = 0;  // the widest name of a row
  float label = 0, over = 0, slant = 0;
  int in_line = 1;
  float gap = 0;
  // Of what stands over or under a picture: its width, and of the gap beside it.
  float beside(const LabPicture& p, const Ui& ui) const { return width(p) + gap - ui.px(4); }
  float width(const LabPicture& p) const { return side * static_cast<float>(p.columns.size()); }
  float height(const LabPicture& p) const { return side * static_cast<float>(p.rows.size()); }
};

float longest(const Ui& ui, const std::vector<std::string>& names) {
  float most = 0;
  for (const std::string& n : names)
    most = std::max(most, ui.measure(ui.fonts.note, lab_name(ui, n)).x);
  return most;
}

std::string over_text(const Ui& ui, const LabPicture& p, bool alone) {
  if (!p.over.empty()) return lab_name(ui.language, p.over);
  if (alone) return "";
  return p.at == std::floor(p.at) ? count_text(static_cast<long long>(p.at)) : number_text(p.at, 3);
}

// As large as the room lets them be, so many in a line that cells can be seen.
Grid grid_of(const Ui& ui, const Pictures& all, float room) {
  const LabPicture& first = *all[0];
  const auto columns = static_cast<float>(std::max<std::size_t>(first.columns.size(), 1));
  const auto rows = static_cast<float>(std::max<std::size_t>(first.rows.size(), 1));
  const bool one = all.size() == 1;
  Grid g;
  g.gap = ui.px(14);
  for (const LabPicture* p : all) g.names = std::max(g.names, longest(ui, p->rows));
  g.names = std::min(g.names, ui.px(130));
  g.label = g.names > 0 ? g.names + ui.px(8) : 0;
  const float most = ui.px(one ? 26 : 18), least = ui.px(3);
  const float tall = ui.px(one ? 320 : 190);
  const float inside = room - g.label;
  const auto fits = [&](int n) {
    return (inside - g.gap * static_cast<float>(n - 1)) / static_cast<float>(n) / columns;
  };
  g.in_line = static_cast<int>(std::min<std::size_t>(all.size(), 8));
  while (g.in_line > 1 && fits(g.in_line) < std::min(ui.px(7), tall / rows)) --g.in_line;
  g.side = std::clamp(std::min(fits(g.in_line), tall / rows), least, most);
  if (g.side * columns > inside) g.side = inside / columns;
  const bool titled = std::ranges::any_of(all, [](auto* p) { return !p->over.empty(); });
  g.over = titled || !one ? ui.px(18) : 0;
  for (const LabPicture* p : all) {  // some need more lines than one
    if (g.over == 0) break;
    const float tall_words =
        ui.wrapped_height(ui.fonts.note, g.beside(*p, ui), over_text(ui, *p, one));
    g.over = std::max(g.over, tall_words + ui.px(4));
  }
  if (one) g.slant = std::min(longest(ui, first.columns), ui.px(120)) * 0.71f + ui.px(6);
  return g;
}

ColorScale scale_of(const Ui& ui, const LabPicture& p, float limit) {
  return p.colours == LabColours::kWeights ? ui.theme.weight_scale(limit)
                                           : ui.theme.signed_scale(limit);
}

// The largest finite size of all of one name, so that they can be compared.
float limit_of(const Pictures& all) {
  float most = 0;
  for (const LabPicture* p : all) {
    for (const float x : p->cells) {
      if (std::isfinite(x)) most = std::max(most, std::fabs(x));
    }
  }
  return most > 0 ? most : 1;
}

void picture_tooltip(Ui& ui, const LabPicture& p, const Grid& g, const Rect& r) {
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const auto row = static_cast<std::size_t>((mouse.y - r.y0) / g.side);
  const auto column = static_cast<std::size_t>((mouse.x - r.x0) / g.side);
  const std::size_t cell = row * p.columns.size() + column;
  if (row >= p.rows.size() || column >= p.columns.size() || cell >= p.cells.size()) return;
  std::string words = p.over.empty() ? "" : lab_name(ui.language, p.over) + "\n";
  const std::string a = lab_name(ui, p.rows[row]), b = lab_name(ui, p.columns[column]);
  words += a + (a.empty() || b.empty() ? "" : " → ") + b + "   " + exact_number(p.cells[cell]);
  ui.tooltip(words);
}

void row_names(Ui& ui, const LabPicture& p, const Grid& g, const Rect& r) {
  const auto step = static_cast<std::size_t>(label_step(g.side, font_size(ui.fonts.note) * 0.92f));
  for (std::size_t i = 0; i < p.rows.size(); i += step) {
    const std::string name = lab_name(ui, p.rows[i]);
    const float wide = std::min(g.names, ui.measure(ui.fonts.note, name).x);
    const float y = r.y0 + (static_cast<float>(i) + 0.5f) * g.side - font_size(ui.fonts.note) / 2;
    ui.user_text(ui.fonts.note, {r.x0 - ui.px(8) - wide, y}, ui.theme.muted, name, g.names);
  }
}

void column_names(Ui& ui, const LabPicture& p, const Grid& g, const Rect& r) {
  const auto step = static_cast<std::size_t>(label_step(g.side, font_size(ui.fonts.note) * 0.9f));
  for (std::size_t i = 0; i < p.columns.size(); i += step) {
    const std::string name =
        shortened_label(ui, ui.fonts.note, lab_name(ui, p.columns[i]), ui.px(120));
    const float x = r.x0 + (static_cast<float>(i) + 0.5f) * g.side;
    slanted_text(ui, ui.fonts.note, {x, r.y0 - ui.px(3)}, ui.theme.muted, name);
  }
}

// One matrix with what stands around it.
void draw_picture(const AppState& state, Ui& ui, const LabPicture& p, const Grid& g, ImVec2 at,
                  float limit, std::size_t place) {
  const Rect r{at.x, at.y, at.x + g.width(p), at.y + g.height(p)};
  if (p.cells.size() != p.rows.size() * p.columns.size() || p.cells.empty()) return;
  HeatmapQuad quad;
  quad.x0 = r.x0, quad.y0 = r.y0, quad.x1 = r.x1, quad.y1 = r.y1;
  quad.data = p.cells.data();
  quad.rows = static_cast<std::int64_t>(p.rows.size());
  quad.columns = static_cast<std::int64_t>(p.columns.size());
  quad.row_stride = quad.columns;
  quad.key = (1ull << 62) | (state.labs.serial << 16) | place;
  quad.unit = ui.scale;
  quad.gap = g.side >= ui.px(8) ? ui.px(1) : 0;
  quad.scale = scale_of(ui, p, limit);
  ImDrawList* list = ImGui::GetWindowDrawList();
  ui.heatmaps.draw(list, quad);
  list->AddRect(r.min(), r.max(), to_u32(ui.theme.line));
  bool over = false;
  ui.hot("lab/picture/" + p.name + "/" + std::to_string(place), r, &over, true,
         FocusKind::kGridCell);
  if (over) picture_tooltip(ui, p, g, r);
}

// Under or over a picture, within its width and the gap beside it.
void beside_picture(Ui& ui, ImFont* font, const Rect& r, float y, const std::string& words,
                    float room) {
  const float wide = ui.measure(font, words).x;
  const float x = wide < r.width() ? r.x0 + (r.width() - wide) / 2 : r.x0;
  ui.user_text(font, {x, y}, ui.theme.text, words, room);
}

// The last line of what stands over pictures is at one height, with room for `over` above it.
void over_picture(Ui& ui, const Rect& r, float y, float over, const std::string& words,
                  float room) {
  ImFont* font = ui.fonts.note;
  if (ui.measure(font, words).x <= room)
    return beside_picture(ui, font, r, y + over - ui.px(18), words, room);
  const float tall = ui.wrapped_height(font, room, words) + ui.px(4);
  ui.wrapped(font, {r.x0, y + over - tall}, room, ui.theme.text, words);
}

float draw_pictures(const AppState& state, Ui& ui, const Lab& lab, const Pictures& all,
                    const Rect& r, std::size_t place) {
  const LabPicture& first = *all[0];
  float y = r.y0;
  const std::string id = "picture." + first.name;
  ui.text(ui.fonts.strong, {r.x0, y}, ui.theme.text, lab_words(ui, lab, id), r.width());
  y += ui.px(20);
  const float limit = limit_of(all);
  std::string axes(lab_words(ui, lab, id + ".axes"));
  const bool weights = first.colours == LabColours::kWeights;
  axes += "  (" + std::string(weights ? "0 … " : "±") + number_text(limit, 3) + ")";
  y += ui.wrapped(ui.fonts.note, {r.x0, y}, r.width(), ui.theme.muted, axes) + ui.px(6);
  const Grid g = grid_of(ui, all, r.width());
  for (std::size_t i = 0; i < all.size();) {
    float x = r.x0 + g.label, lowest = y;
    for (int n = 0; n < g.in_line && i < all.size(); ++n, ++i) {
      const LabPicture& p = *all[i];
      const float top = y + g.over + g.slant;
      // Those side by side share the names of their rows, unless they have rows of their own.
      const bool named = n == 0 || p.rows != first.rows;
      if (n > 0 && named) x += g.label;
      const Rect cells{x, top, x + g.width(p), top + g.height(p)};
      if (n > 0 && cells.x1 > r.x1 + 1) break;
      if (g.over > 0)
        over_picture(ui, cells, y, g.over, over_text(ui, p, all.size() == 1), g.beside(p, ui));
      if (named && g.label > 0) row_names(ui, p, g, cells);
      if (g.slant > 0) column_names(ui, p, g, cells);
      draw_picture(state, ui, p, g, cells.min(), limit, place + i);
      float end = cells.y1;
      if (!p.under.empty()) {
        beside_picture(ui, ui.fonts.mono_small, cells, end + ui.px(3),
                       lab_name(ui.language, p.under), g.beside(p, ui));
        end += ui.px(18);
      }
      lowest = std::max(lowest, end);
      x = cells.x1 + std::max(g.gap, ui.px(56) - cells.width());
    }
    y = lowest + ui.px(10);
  }
  return y + ui.px(8);
}

}  // namespace

float lab_pictures(const AppState& state, Ui& ui, const Lab& lab, const Rect& r) {
  const std::vector<LabPicture>& pictures = state.labs.result->pictures;
  std::vector<std::string_view> names;
  for (const LabPicture& p : pictures) {
    if (std::ranges::find(names, p.name) == names.end()) names.push_back(p.name);
  }
  std::vector<Pictures> groups;
  for (const std::string_view name : names) {
    groups.emplace_back();
    for (const LabPicture& p : pictures) {
      if (p.name == name) groups.back().push_back(&p);
    }
  }
  // Single ones two in a line, where there is room.
  const auto beside = [&](std::size_t i) {
    return r.width() > ui.px(620) && i + 1 < groups.size() && groups[i].size() == 1 &&
           groups[i + 1].size() == 1;
  };
  float y = r.y0;
  std::size_t place = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const bool two = beside(i);
    const float half = (r.width() - ui.px(26)) / 2;
    float end =
        draw_pictures(state, ui, lab, groups[i], {r.x0, y, two ? r.x0 + half : r.x1, r.y1}, place);
    place += groups[i].size();
    if (two) {
      ++i;
      end = std::max(end,
                     draw_pictures(state, ui, lab, groups[i], {r.x1 - half, y, r.x1, r.y1}, place));
      ++place;
    }
    y = end;
  }
  return y;
}

}  // namespace headlight
