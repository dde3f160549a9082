// The names of a pane's rows and columns, as many as can be read.
#include <algorithm>
#include <cmath>
#include <optional>

#include "app/ui/matrix/pane_view.h"
#include "app/ui/matrix/place_words.h"
#include "core/base/utf8.h"

namespace headlight {

std::int64_t label_step(float cell, float need) {
  return std::max<std::int64_t>(1,
                                static_cast<std::int64_t>(std::ceil(need / std::max(cell, 0.01f))));
}

// Drawn level, then its vertices are turned.
void slanted_text(Ui& ui, ImFont* font, ImVec2 at, Color color, std::string_view words) {
  ui.drawn.add_label(std::string(words), at);
  ImDrawList* list = ImGui::GetWindowDrawList();
  // ImGui leaves out letters beyond the clip rectangle before they are turned; so none is in force.
  list->PushClipRect({-1e5f, -1e5f}, {1e5f, 1e5f});
  const int begin = list->VtxBuffer.Size;
  ui.text(font, {at.x, at.y - font_size(font)}, color, words);
  list->PopClipRect();
  constexpr float kCos = 0.70710678f, kSin = -0.70710678f;
  for (int i = begin; i < list->VtxBuffer.Size; ++i) {
    ImVec2& p = list->VtxBuffer[i].pos;
    const float x = p.x - at.x, y = p.y - at.y;
    p = {at.x + x * kCos - y * kSin, at.y + x * kSin + y * kCos};
  }
}

namespace {

// Of a model that fills [MASK], of what it predicts: the rows where it was trained to say anything.
std::span<const int> asked_rows(const Trace& trace, const PagePane& p) {
  const Program& program = trace.program();
  const Place& place = program.tensors[static_cast<std::size_t>(p.tensor)].place;
  if (!program.asks_for_masked() || place.section != Section::kPrediction) return {};
  return trace.input().masked;
}

// Where some labels are left out, the same word again says which one it is: "the₁₄".
std::string row_name(const Ui& ui, const Trace& trace, std::string_view axis, std::int64_t i,
                     bool some) {
  return some ? place_name(ui, trace, axis, i) : place_label(ui, trace, axis, i);
}

void draw_row_labels(Ui& ui, const Trace& trace, const PlacedPane& p, const CellLink& lit) {
  ImFont* font = p.cell_h >= ui.px(15) ? ui.fonts.control : ui.fonts.note;
  const std::int64_t step = label_step(p.cell_h, font_size(font) * 0.92f);
  const std::span<const int> asked = asked_rows(trace, *p.pane);
  const auto is_asked = [&](std::int64_t r) {
    return std::ranges::binary_search(asked, static_cast<int>(r));
  };
  // Where not all have room, the lit one goes first, then those that the page is about.
  const auto gives_way = [&](std::int64_t r) {
    if (lit.row == r) return false;
    if (lit.row && p.rows.sees(*lit.row) && std::abs(*lit.row - r) < step) return true;
    if (is_asked(r)) return false;
    const auto near = std::ranges::lower_bound(asked, static_cast<int>(r - step + 1));
    return r % step != 0 || (near != asked.end() && *near < r + step);
  };
  for (std::int64_t r = p.rows.begin(); r < p.rows.end(); ++r) {
    const bool on = lit.row == r;
    if (step > 1 && gives_way(r)) continue;
    const float middle = p.rows.center(r);
    if (middle < p.rect.y0 || middle > p.rect.y1) continue;
    const std::string label = row_name(ui, trace, p.pane->pane.row_axis, r, step > 1);
    const float room = p.label_room;
    ImFont* own = on ? ui.fonts.strong : font;
    const float width = std::min(room, ui.measure(own, label).x);
    ui.user_text(own, {p.rect.x0 - ui.px(8) - width, middle - font_size(font) * 0.55f},
                 on            ? ui.theme.q
                 : is_asked(r) ? ui.theme.text
                               : ui.theme.muted,
                 label, room);
  }
}

// How far the ink of a line of text reaches, from its top down.
struct Ink {
  float top = 0, bottom = 0;
};
Ink ink_of(const ImFont* font, std::string_view words) {
  Ink ink{font_size(font), 0};
  for (const char32_t point : to_code_points(words)) {
    const ImFontGlyph* glyph = find_glyph(font, static_cast<ImWchar>(point));
    ink = {std::min(ink.top, glyph->Y0), std::max(ink.bottom, glyph->Y1)};
  }
  return ink;
}

// Do slanted labels touch whose columns are so many pixels apart, the second one further right?
bool slanted_touch(const Ink& left, const Ink& right, float apart, float gap) {
  return right.top + 0.7071f * apart < left.bottom + gap;
}

// One slanted label over its column; the whole word in a tooltip where it is shortened.
void draw_slanted_label(Ui& ui, ImFont* font, ImVec2 at, Color color, const std::string& label,
                        const std::string& shown) {
  slanted_text(ui, font, at, color, shown);
  if (shown == label) return;
  const float length = 0.7f * ui.measure(font, shown).x;
  const ImVec2 min{at.x, at.y - length}, max{at.x + length, at.y};
  ui.drawn.add_shortened({label, shown, min, max});
  // The band that leads up to the right.
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const float across = at.x - mouse.x + at.y - mouse.y;
  if (ImGui::IsMouseHoveringRect(min, max, false) && ImGui::IsWindowHovered() &&
      std::fabs(across - font_size(font)) < 1.2f * font_size(font))
    ui.tooltip(label);
}

// How the names of the columns stand upright: slanted, single characters read as strokes.
struct Upright {
  ImFont* font = nullptr;
  std::int64_t step = 1;
};

bool all_fit(const Ui& ui, const Trace& trace, const PlacedPane& p, ImFont* lit, float gap) {
  float before = 0;
  for (std::int64_t c = p.columns.begin(); c < p.columns.end(); ++c) {
    const std::string label = place_label(ui, trace, p.pane->pane.column_axis, c);
    const float width = ui.measure(lit, label).x;
    if ((before + width) / 2 + gap > p.cell_w) return false;
    before = width;
  }
  return true;
}

// All of them where none touches its neighbour; some of them where each is about a character.
std::optional<Upright> upright(const Ui& ui, const Trace& trace, const PlacedPane& p) {
  if (all_fit(ui, trace, p, ui.fonts.strong, ui.px(4))) return Upright{ui.fonts.control, 1};
  if (all_fit(ui, trace, p, ui.fonts.note, ui.px(1))) return Upright{ui.fonts.note, 1};
  float widest = 0;
  for (std::int64_t c = p.columns.begin(); c < p.columns.end(); ++c) {
    const std::string name = row_name(ui, trace, p.pane->pane.column_axis, c, true);
    widest = std::max(widest, ui.measure(ui.fonts.note, name).x);
    if (widest > 2 * font_size(ui.fonts.note)) return std::nullopt;
  }
  return Upright{ui.fonts.note, label_step(p.cell_w, widest + ui.px(3))};
}

void draw_upright_labels(Ui& ui, const Trace& trace, const PlacedPane& p, const CellLink& lit,
                         const Upright& how) {
  const bool shows_lit = lit.column && p.columns.sees(*lit.column);
  for (std::int64_t c = p.columns.begin(); c < p.columns.end(); ++c) {
    const float middle = p.columns.center(c);
    if (middle < p.rect.x0 || middle > p.rect.x1) continue;
    const bool on = lit.column == c;
    if (!on && (c % how.step != 0 || (shows_lit && std::abs(*lit.column - c) < how.step))) continue;
    const bool bold = on && how.font == ui.fonts.control;  // where there is room
    ImFont* font = bold ? ui.fonts.strong : how.font;
    const std::string label = row_name(ui, trace, p.pane->pane.column_axis, c, how.step > 1);
    const float width = ui.measure(font, label).x;
    ui.drawn.add_label(label, {middle, p.rect.y0 - ui.px(5)});
    ui.text(font, {std::round(middle - width / 2), p.rect.y0 - ui.px(5) - font_size(font)},
            on ? ui.theme.k : ui.theme.muted, label);
  }
}

void draw_column_labels(Ui& ui, const Trace& trace, const PlacedPane& p, const CellLink& lit) {
  if (const auto how = upright(ui, trace, p)) return draw_upright_labels(ui, trace, p, lit, *how);
  const std::int64_t step = label_step(p.cell_w, font_size(ui.fonts.note) * 1.05f);
  constexpr std::size_t kMost = 9;  // letters
  const auto label_of = [&](std::int64_t c) {
    return row_name(ui, trace, p.pane->pane.column_axis, c, step > 1);
  };
  const auto font_of = [&](std::int64_t c) {
    return lit.column == c ? ui.fonts.strong : ui.fonts.note;
  };
  const auto ink = [&](std::int64_t c) {
    return ink_of(font_of(c), shortened(label_of(c), kMost));
  };
  const auto touch = [&](std::int64_t a, std::int64_t b) {
    const float gap = step > 1 ? ui.px(2) : 0;
    return slanted_touch(ink(a), ink(b), static_cast<float>(b - a) * p.cell_w, gap);
  };
  const bool shows_lit = lit.column && p.columns.sees(*lit.column);
  std::optional<std::int64_t> last;
  for (std::int64_t c = p.columns.begin(); c < p.columns.end(); ++c) {
    const bool on = lit.column == c;
    const float middle = p.columns.center(c);
    if ((c % step != 0 && !on) || middle < p.rect.x0 || middle > p.rect.x1) continue;
    // Beside the lit one, and where tall letters would touch, a label gives way.
    if (!on && last && touch(*last, c)) continue;
    // Of a few among many none has to reach what stands right of the picture.
    const std::string label = label_of(c), shown = shortened(label, kMost);
    const float reach = 0.7071f * ui.measure(font_of(c), shown).x;
    if (!on && step > 1 && middle + reach > p.rect.x1 + ui.px(8)) continue;
    if (!on && shows_lit && (c < *lit.column ? touch(c, *lit.column) : touch(*lit.column, c)))
      continue;
    last = c;
    draw_slanted_label(ui, font_of(c), {middle + 0.12f * p.cell_w, p.rect.y0 - ui.px(4)},
                       on ? ui.theme.k : ui.theme.muted, label, shown);
  }
}

}  // namespace

void draw_pane_labels(Ui& ui, const Trace& trace, const PlacedPane& p, const CellLink& lit) {
  const CellLink named{p.named_row ? p.named_row : lit.row,
                       p.named_column ? p.named_column : lit.column};
  if (p.row_labels) draw_row_labels(ui, trace, p, named);
  if (p.column_labels) draw_column_labels(ui, trace, p, named);
}

}  // namespace headlight
