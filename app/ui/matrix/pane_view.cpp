#include "app/ui/matrix/pane_view.h"

#include <algorithm>
#include <cmath>

#include "app/ui/kit/rich_text.h"
#include "app/ui/matrix/place_words.h"
#include "core/base/number_text.h"
#include "core/base/random.h"
#include "core/base/utf8.h"

namespace headlight {

PaneColors colors_of(const Theme& theme, RangeMode mode, const Trace& trace, const PagePane& p) {
  const bool shared = mode == RangeMode::kShared && !p.alone;
  const bool weights = shows_weights(trace.program(), p.tensor);
  const CellRange range = shared ? shared_range(trace, p) : own_range(trace, p);
  const bool says = !weights && mode == RangeMode::kShared && shows_one_head(trace, p);
  return {weights ? theme.weight_scale(range.limit) : theme.signed_scale(range.limit), range,
          !says    ? ""
          : shared ? "range.all_heads"
                   : "range.one_head"};
}

Color tensor_color(const Theme& theme, const Program& program, TensorId id) {
  if (id < 0) return theme.text;
  return formula_color(theme, role_info(program.tensors[static_cast<std::size_t>(id)].role).color);
}

std::string pane_caption(const Trace& trace, const PagePane& p) {
  std::string text = trace.program().tensors[static_cast<std::size_t>(p.tensor)].symbol;
  // One head's part of what stands side by side: Q₀ of Q.
  if (p.pane.head_columns > 0 && p.pane.columns == p.pane.head_columns)
    text += subscript(p.pane.first_head);
  if (!p.pane.part.empty()) text.append("_").append(p.pane.part);
  if (p.pane.transposed) text += "ᵀ";
  return text;
}

std::string range_text(const Ui& ui, const PaneColors& colors) {
  const ColorScale& scale = colors.scale;
  const bool signs = scale.map == ColorMap::kDiverging;
  const auto [low, high] = scale_ends(signs ? -scale.limit : 0, scale.limit);
  const bool beyond = colors.range.clips_high() || (signs && colors.range.clips_low());
  return (signs ? "±" + high : low + " … " + high) +
         std::string(beyond ? ui.tr("range.beyond") : "");
}

std::string span_text(const Ui& ui, const PaneColors& colors) {
  return *colors.span ? std::string(ui.tr("range.of")).append(ui.tr(colors.span)) : "";
}

namespace {

HeatmapQuad quad_of(const Trace& trace, const PagePane& p, const Rect& r, float gap, float unit) {
  HeatmapQuad quad;
  quad.x0 = r.x0;
  quad.y0 = r.y0;
  quad.x1 = r.x1;
  quad.y1 = r.y1;
  quad.data = trace.tensor(p.tensor).data + p.pane.offset;
  quad.rows = p.pane.rows;
  quad.columns = p.pane.columns;
  quad.row_stride = p.pane.row_stride;
  quad.column_stride = p.pane.column_stride;
  quad.head_columns = p.pane.head_columns;
  quad.head_stride = p.pane.head_stride;
  quad.gap = gap;
  quad.unit = unit;
  std::uint64_t key = scatter(trace.serial());
  for (const std::int64_t part : {static_cast<std::int64_t>(p.tensor), p.pane.offset, p.pane.rows,
                                  p.pane.columns, p.pane.row_stride, p.pane.column_stride}) {
    key = scatter(key ^ static_cast<std::uint64_t>(part));
  }
  quad.key = key;
  return quad;
}

void draw_lit(Ui& ui, const PlacedPane& p, const CellLink& lit) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float thick = std::max(1.5f, ui.px(1.75f));
  const auto frame = [&](DrawnMark::Kind kind, Rect r, Color color) {
    ui.drawn.add_mark(kind, r.min(), r.max());
    // A frame around a very small cell must still be seen.
    const float grow_x = std::max(0.0f, (ui.px(5) - r.width()) / 2);
    const float grow_y = std::max(0.0f, (ui.px(5) - r.height()) / 2);
    list->AddRect({r.x0 - grow_x - 1, r.y0 - grow_y - 1}, {r.x1 + grow_x + 1, r.y1 + grow_y + 1},
                  to_u32(color), ui.px(2), 0, thick);
  };
  const bool row = lit.row && p.rows.sees(*lit.row);
  const bool column = lit.column && p.columns.sees(*lit.column);
  const Rect& all = p.rect;
  // Half cells at the edge of what is seen stay inside.
  const float out = ui.px(4);
  list->PushClipRect({all.x0 - out, all.y0 - out}, {all.x1 + out, all.y1 + out}, true);
  using Mark = DrawnMark::Kind;
  if (row) {
    frame(Mark::kRow, {all.x0, p.rows.edge(*lit.row), all.x1, p.rows.edge(*lit.row + 1)},
          ui.theme.q);
  }
  if (column) {
    frame(Mark::kColumn,
          {p.columns.edge(*lit.column), all.y0, p.columns.edge(*lit.column + 1), all.y1},
          ui.theme.k);
  }
  if (row && column) frame(Mark::kCell, p.cell_rect(*lit.row, *lit.column), ui.theme.text);
  list->PopClipRect();
}

// Thin bars beside a matrix that is not seen whole: which part it is.
void draw_position(Ui& ui, const PlacedPane& p) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float thick = std::max(2.0f, ui.px(3));
  const auto bar = [&](const AxisWindow& w, auto place) {
    if (w.sees_all()) return;
    const auto count = static_cast<float>(w.count);
    const float from = w.first / count, size = w.length / w.cell / count;
    const float length = std::max(size * w.length, ui.px(8));
    const float begin = w.origin + std::min(from * w.length, w.length - length);
    const Rect track = place(w.origin, w.origin + w.length), knob = place(begin, begin + length);
    list->AddRectFilled(track.min(), track.max(), to_u32(ui.theme.line), thick / 2);
    list->AddRectFilled(knob.min(), knob.max(), to_u32(ui.theme.muted), thick / 2);
  };
  bar(p.rows, [&](float a, float b) { return Rect{p.rect.x1 + 2, a, p.rect.x1 + 2 + thick, b}; });
  bar(p.columns, [&](float a, float b) {
    return Rect{a, p.rect.y1 + 2, b, p.rect.y1 + 2 + thick};
  });
}

// What the mouse does to the pane just drawn with ui.hot().
void read_mouse(const Ui& ui, const PlacedPane& p, bool over, PaneEvents& events) {
  const ImGuiIO& io = ImGui::GetIO();
  const float still = ui.px(4);
  const bool held = ImGui::IsItemActive() && ImGui::IsMouseDragging(0, still);
  const bool middle = over && ImGui::IsMouseDragging(2, 0);
  if (held || middle) events.dragged = io.MouseDelta;
  // A drag that moved the matrix picks no cell at its end.
  const bool moved = io.MouseDragMaxDistanceSqr[0] > still * still;
  if (events.clicked && moved && !p.sees_all()) events.clicked = false;
  if (over && !io.KeyCtrl) events.wheel = io.MouseWheel;
  events.double_clicked = over && ImGui::IsMouseDoubleClicked(0);
  if (over || events.clicked) events.hovered = p.cell_at(io.MousePos);
  if (!events.hovered) events.clicked = false;
}

// The name with sizes, their words, the range and whose it is; without that; without the words;
// without the sizes, which the neighbours say too; alone.
constexpr int kBriefest = 4;
Words caption_words(const Ui& ui, const Trace& trace, const PlacedPane& placed,
                    const std::string& caption, int brevity) {
  const PagePane& p = *placed.pane;
  const Color own = p.pane.role == PaneRole::kRowVector
                        ? ui.theme.muted
                        : tensor_color(ui.theme, trace.program(), p.tensor);
  if (brevity == kBriefest) return {{caption, own}};
  Words words = {{caption, own}};
  if (brevity < 3) {
    const Words sizes = shape_words(ui, trace, p, brevity < 2);
    words.push_back({" ", own});
    words.insert(words.end(), sizes.begin(), sizes.end());
  }
  if (!placed.range.empty())
    words.push_back({"  " + placed.range + (brevity == 0 ? placed.span : ""), ui.theme.muted});
  return words;
}

ImFont* caption_font(const Ui& ui, const PlacedPane& p) {
  return p.pane->pane.role == PaneRole::kRowVector ? ui.fonts.note : ui.fonts.strong;
}

Words caption_line(const Ui& ui, const Trace& trace, const PlacedPane& p,
                   const std::string& caption) {
  const int brevity = std::max(p.brevity, caption_brevity(ui, trace, p, caption));
  return caption_words(ui, trace, p, caption, brevity);
}

// Beside an upper operand there is more height than width: its name, then a line for each size, of
// which its range comes first where there is not enough.
void draw_side_caption(Ui& ui, const Trace& trace, const PlacedPane& p,
                       const std::string& caption) {
  const PagePane& page = *p.pane;
  const float x = p.rect.x1 + ui.px(10), line = ui.px(16);
  const float middle = (p.rect.y0 + p.rect.y1) / 2;
  if (p.rect.height() < 2 * line || p.caption_room < ui.px(40)) {
    const Words words = caption_line(ui, trace, p, caption);
    draw_words(ui, ui.fonts.strong, {x, middle - ui.px(8)}, words);
    return;
  }
  Words rows = {{"(", ui.theme.muted}}, columns = {{"× ", ui.theme.muted}};
  add_size(rows, ui, trace, page.tensor, page.pane.row_axis, page.pane.rows, true);
  add_size(columns, ui, trace, page.tensor, page.pane.column_axis, page.pane.columns, true);
  columns.push_back({")", ui.theme.muted});
  const bool ranged = !p.range.empty();
  const bool sized = !ranged || p.rect.height() >= 2.8f * line;
  float y = middle - (ranged && sized ? 2.0f : sized ? 1.5f : 1.0f) * line;
  ui.text(ui.fonts.strong, {x, y}, tensor_color(ui.theme, trace.program(), page.tensor), caption);
  if (sized) {
    draw_words(ui, ui.fonts.control, {x, y += line}, rows);
    draw_words(ui, ui.fonts.control, {x, y += line}, columns);
  }
  if (!ranged) return;
  const bool whole = ui.measure(ui.fonts.control, p.range + p.span).x <= p.caption_room;
  ui.wrapped(ui.fonts.control, {x, y + line}, p.caption_room, ui.theme.muted,
             p.range + (whole ? p.span : ""));
}

void draw_caption(Ui& ui, const Trace& trace, const PlacedPane& p, const std::string& caption) {
  const PaneRole role = p.pane->pane.role;
  if (p.caption_beside) return draw_side_caption(ui, trace, p, caption);
  if (role == PaneRole::kRowVector) {
    const Words words = caption_line(ui, trace, p, caption);
    draw_words(ui, ui.fonts.note, {p.rect.x1 + ui.px(10), (p.rect.y0 + p.rect.y1) / 2 - ui.px(7)},
               words);
    return;
  }
  const Words words = caption_line(ui, trace, p, caption);
  const float width = measure_words(ui, ui.fonts.strong, words);
  draw_words(ui, ui.fonts.strong, {(p.rect.x0 + p.rect.x1 - width) / 2, p.rect.y1 + ui.px(5)},
             words);
}

// Bars in the heads' colours over columns (beside rows) that belong to heads.
void draw_head_bands(Ui& ui, const Trace& trace, const PlacedPane& p) {
  const Pane& pane = p.pane->pane;
  ImDrawList* list = ImGui::GetWindowDrawList();
  const int heads = trace.config().head_count();
  const float thick = ui.px(4), gap = ui.px(2);
  const auto band = [&](std::int64_t i, std::int64_t size, float cell, bool over) {
    const auto head = static_cast<int>(pane.first_head + i);
    const float from = static_cast<float>(i * size) * cell;
    const float to = from + static_cast<float>(size) * cell - std::min(1.0f, cell);
    const Color color = head_color(ui.theme, head, heads);
    const Rect r =
        over ? Rect{p.rect.x0 + from, p.rect.y0 - gap - thick, p.rect.x0 + to, p.rect.y0 - gap}
             : Rect{p.rect.x0 - gap - thick, p.rect.y0 + from, p.rect.x0 - gap, p.rect.y0 + to};
    list->AddRectFilled(r.min(), r.max(), to_u32(color));
    const std::string number = std::to_string(head);
    const ImVec2 size_of = ui.measure(ui.fonts.note, number);
    // Where columns have names there is no room; the caption says which head it is.
    if (!over || !p.head_numbers || p.column_labels || to - from < size_of.x + ui.px(4)) return;
    ui.text(ui.fonts.note, {(r.x0 + r.x1 - size_of.x) / 2, r.y0 - size_of.y - ui.px(1)}, color,
            number);
  };
  if (pane.head_columns > 0) {
    for (std::int64_t i = 0; i * pane.head_columns < pane.columns; ++i)
      band(i, pane.head_columns, p.cell_w, true);
  }
  if (pane.head_rows > 0) {
    for (std::int64_t i = 0; i * pane.head_rows < pane.rows; ++i)
      band(i, pane.head_rows, p.cell_h, false);
  }
}

// How many of an axis' first places are remembered ones, of a matrix that has others behind them.
std::int64_t remembered_places(const Trace& trace, std::string_view axis, std::int64_t count) {
  const std::int64_t memory = trace.program().shape.memory;
  return axis == "key" && count > memory ? memory : 0;
}

// A line between what is remembered and the segment's own rows and columns.
void draw_memory_edge(Ui& ui, const Trace& trace, const PlacedPane& p) {
  const Pane& pane = p.pane->pane;
  const float half = std::max(0.5f, ui.px(0.75f)), out = ui.px(5);
  const auto line = [&](const Rect& r) {
    ImGui::GetWindowDrawList()->AddRectFilled(r.min(), r.max(), to_u32(ui.theme.text));
    ui.drawn.add("pane/memory_edge", r.min(), r.max(), false);
  };
  const std::int64_t left = remembered_places(trace, pane.column_axis, pane.columns);
  if (left > 0 && p.columns.sees(left)) {
    const float x = p.columns.edge(left);
    line({x - half, p.rect.y0 - out, x + half, p.rect.y1 + out});
  }
  const std::int64_t above = remembered_places(trace, pane.row_axis, pane.rows);
  if (above > 0 && p.rows.sees(above)) {
    const float y = p.rows.edge(above);
    line({p.rect.x0 - out, y - half, p.rect.x1 + out, y + half});
  }
}

}  // namespace

int caption_brevity(const Ui& ui, const Trace& trace, const PlacedPane& p,
                    const std::string& caption) {
  int brevity = 0;
  const auto fits = [&] {
    const Words words = caption_words(ui, trace, p, caption, brevity);
    return p.caption_room <= 0 || measure_words(ui, caption_font(ui, p), words) <= p.caption_room;
  };
  while (brevity < kBriefest && !fits()) ++brevity;
  return brevity;
}

HeatmapQuad heatmap_quad(const Ui& ui, const Trace& trace, const PagePane& p, const Rect& r,
                         float gap) {
  HeatmapQuad quad = quad_of(trace, p, r, gap, ui.scale);
  quad.scale = colors_of(ui, trace, p).scale;
  return quad;
}

void draw_heatmap(Ui& ui, const Trace& trace, const PagePane& p, const Rect& r, float gap) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  ui.heatmaps.draw(list, heatmap_quad(ui, trace, p, r, gap));
  const std::int64_t left = remembered_places(trace, p.pane.column_axis, p.pane.columns);
  if (left == 0) return;
  const float x =
      std::round(r.x0 + r.width() * static_cast<float>(left) / static_cast<float>(p.pane.columns));
  list->AddLine({x, r.y0}, {x, r.y1}, to_u32(ui.theme.muted));
}

PaneEvents draw_pane(Ui& ui, const Trace& trace, const PlacedPane& p, const CellLink& lit,
                     std::string_view id, const std::string& caption, const PaneColors* colors,
                     const float* data, std::uint64_t data_key) {
  const Pane& pane = p.pane->pane;
  const Rect whole{p.columns.edge(0), p.rows.edge(0), p.columns.edge(pane.columns),
                   p.rows.edge(pane.rows)};
  HeatmapQuad quad = quad_of(
      trace, *p.pane, whole,
      std::min(p.cell_w, p.cell_h) >= 5 ? std::max(1.0f, std::round(ui.scale)) : 0.0f, ui.scale);
  quad.scale = colors ? colors->scale : colors_of(ui, trace, *p.pane).scale;
  if (data) {
    quad.data = data;
    quad.key = data_key;
  }
  ImGui::GetWindowDrawList()->AddRectFilled(p.rect.min(), p.rect.max(), to_u32(ui.theme.line));
  ImGui::PushClipRect(p.rect.min(), p.rect.max(), true);
  ui.heatmaps.draw(ImGui::GetWindowDrawList(), quad);
  ImGui::PopClipRect();
  // Pale cells would not show where the matrix ends.
  ImGui::GetWindowDrawList()->AddRect({p.rect.x0 - 1, p.rect.y0 - 1},
                                      {p.rect.x1 + 1, p.rect.y1 + 1}, to_u32(ui.theme.line));
  draw_pane_numbers(ui, trace, p, lit, quad.scale,
                    colors ? colors->range : own_range(trace, *p.pane), quad.data);
  draw_pane_labels(ui, trace, p, lit);
  draw_head_bands(ui, trace, p);
  draw_memory_edge(ui, trace, p);
  draw_caption(ui, trace, p, caption);
  draw_lit(ui, p, lit);
  draw_position(ui, p);

  PaneEvents events;
  bool over = false;
  events.clicked = ui.hot(id, p.rect, &over, true, FocusKind::kPane);
  if (ui.activated(id) && lit.row && lit.column) {
    events.hovered = std::pair{*lit.row, *lit.column};
    return events;
  }
  read_mouse(ui, p, over, events);
  if (events.hovered) {
    const auto [r, c] = *events.hovered;
    cell_tooltip(ui, trace, *p.pane, r, c, quad.data[pane_step(pane, r, c)]);
  }
  return events;
}

void cell_tooltip(Ui& ui, const Trace& trace, const PagePane& p, std::int64_t r, std::int64_t c,
                  float value) {
  const TensorSpec& spec = trace.program().tensors[static_cast<std::size_t>(p.tensor)];
  const auto name_of = [&](std::string_view axis, std::int64_t i) {
    if (axis == "batch") return place_label(ui, trace, axis, i);
    std::string text(ui.tr("inspector.axis." + std::string(axis)));
    text += " " + std::to_string(i);
    if (names_places(axis)) text += "  " + place_label(ui, trace, axis, i);
    return text;
  };
  const auto line = [&](const std::string& words) {
    ui.drawn.note(words);
    ImGui::TextUnformatted(words.c_str());
  };
  ImGui::PushFont(ui.fonts.control);
  ImGui::BeginTooltip();
  ImGui::PushStyleColor(ImGuiCol_Text, to_vec4(ui.theme.muted));
  line(spec.name);
  const std::vector<std::int64_t> index = unravel(spec.axes, pane_flat(p.pane, r, c));
  for (std::size_t a = 0; a + 2 < spec.axes.size(); ++a) {
    if (counts_heads(spec.axes[a].name)) line(name_of(spec.axes[a].name, index[a]));
  }
  if (!p.pane.row_axis.empty()) line(name_of(p.pane.row_axis, r));
  line(name_of(p.pane.column_axis, c));
  ImGui::PopStyleColor();
  ImGui::PushFont(ui.fonts.mono);
  ImGui::TextUnformatted(exact_number(value).c_str());
  ImGui::PopFont();
  ImGui::EndTooltip();
  ImGui::PopFont();
}

}  // namespace headlight
