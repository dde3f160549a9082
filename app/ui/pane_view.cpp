#include "app/ui/pane_view.h"

#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "core/steps.h"
#include "core/text/number_text.h"
#include "core/text/utf8.h"

namespace headlight {

ColorScale scale_of(const Ui& ui, const Trace& trace, TensorId id) {
  const float limit = trace.limit(id);
  return shows_weights(trace.program(), id) ? ui.theme.weight_scale(limit)
                                            : ui.theme.signed_scale(limit);
}

Color tensor_color(const Theme& theme, std::string_view name) {
  if (name.ends_with("attn.q") || name.ends_with("q_proj")) return theme.q;
  if (name.ends_with("attn.k") || name.ends_with("k_proj")) return theme.k;
  if (name.ends_with("attn.v") || name.ends_with("v_proj")) return theme.v;
  if (name.ends_with("pattern")) return theme.pattern;
  return theme.text;
}

std::string pane_caption(const Trace& trace, const PagePane& p) {
  std::string text(tensor_symbol(trace.program().tensors[static_cast<std::size_t>(p.tensor)].name));
  if (p.pane.transposed) text += "ᵀ";
  if (p.pane.role == PaneRole::kRowVector)
    return text + " (" + std::to_string(p.pane.columns) + ")";
  return text + " (" + std::to_string(p.pane.rows) + " × " + std::to_string(p.pane.columns) + ")";
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

// Text turned by 45° about its lower left corner: drawn level, then its vertices are turned.
void slanted_text(Ui& ui, ImFont* font, ImVec2 at, Color color, std::string_view words) {
  ui.probe.add_label(std::string(words), at);
  ImDrawList* list = ImGui::GetWindowDrawList();
  // ImGui leaves out letters beyond the clip rectangle before they are turned; so none is in force.
  list->PushClipRect({-1e5f, -1e5f}, {1e5f, 1e5f});
  const int begin = list->VtxBuffer.Size;
  ui.text(font, {at.x, at.y - font->FontSize}, color, words);
  list->PopClipRect();
  constexpr float kCos = 0.70710678f, kSin = -0.70710678f;
  for (int i = begin; i < list->VtxBuffer.Size; ++i) {
    ImVec2& p = list->VtxBuffer[i].pos;
    const float x = p.x - at.x, y = p.y - at.y;
    p = {at.x + x * kCos - y * kSin, at.y + x * kSin + y * kCos};
  }
}

// How many labels to leave out so that the rest can be read.
std::int64_t label_step(float cell, float need) {
  return std::max<std::int64_t>(1,
                                static_cast<std::int64_t>(std::ceil(need / std::max(cell, 0.01f))));
}

void draw_row_labels(Ui& ui, const Trace& trace, const PlacedPane& p, const CellLink& lit) {
  ImFont* font = p.cell_h >= ui.px(15) ? ui.fonts.control : ui.fonts.note;
  const std::int64_t step = label_step(p.cell_h, font->FontSize * 0.92f);
  const Color lit_color = tensor_color(ui.theme, "attn.q");
  for (std::int64_t r = 0; r < p.pane->pane.rows; ++r) {
    const bool on = lit.row == r;
    if (r % step != 0 && !on) continue;
    if (step > 1 && lit.row && !on && std::abs(*lit.row - r) < step)
      continue;  // room for the lit one
    const std::string label = token_label(row_label(trace, p.pane->pane, r));
    const float room = ui.px(86);
    std::string shown = label;
    const float width = std::min(room, ui.measure(font, shown).x);
    const float y = p.rect.y0 + (static_cast<float>(r) + 0.5f) * p.cell_h - font->FontSize * 0.55f;
    ui.user_text(on ? ui.fonts.strong : font, {p.rect.x0 - ui.px(8) - width, y},
                 on ? lit_color : ui.theme.muted, label, room);
  }
}

void draw_column_labels(Ui& ui, const Trace& trace, const PlacedPane& p, const CellLink& lit) {
  ImFont* font = ui.fonts.note;
  const std::int64_t step = label_step(p.cell_w, font->FontSize * 1.05f);
  const Color lit_color = tensor_color(ui.theme, "attn.k");
  for (std::int64_t c = 0; c < p.pane->pane.columns; ++c) {
    const bool on = lit.column == c;
    if (c % step != 0 && !on) continue;
    if (step > 1 && lit.column && !on && std::abs(*lit.column - c) < step) continue;
    std::string label = token_label(column_label(trace, p.pane->pane, c));
    std::u32string points = to_code_points(label);
    if (points.size() > 9) {
      label.clear();
      for (std::size_t i = 0; i < 8; ++i) label += to_utf8(points[i]);
      label += "…";
    }
    const float x = p.rect.x0 + (static_cast<float>(c) + 0.62f) * p.cell_w;
    slanted_text(ui, on ? ui.fonts.strong : font, {x, p.rect.y0 - ui.px(4)},
                 on ? lit_color : ui.theme.muted, label);
  }
}

void draw_numbers(Ui& ui, const PlacedPane& p, const ColorScale& scale, const float* data) {
  const auto room_for = [&](ImFont* f) {
    return static_cast<int>((p.cell_w - ui.px(3)) / ui.measure(f, "0").x);
  };
  ImFont* font = room_for(ui.fonts.mono_small) >= 4 ? ui.fonts.mono_small : ui.fonts.mono_cell;
  const int room = room_for(font);
  const bool too_many = p.pane->pane.rows * p.pane->pane.columns > 2500;
  if (room < 3 || p.cell_h < font->FontSize + ui.px(2) || too_many) return;
  const bool weights = scale.map == ColorMap::kSequential;
  ImDrawList* list = ImGui::GetWindowDrawList();
  for (std::int64_t r = 0; r < p.pane->pane.rows; ++r) {
    for (std::int64_t c = 0; c < p.pane->pane.columns; ++c) {
      const float value = data[r * p.pane->pane.row_stride + c * p.pane->pane.column_stride];
      if (weights && value == 0) continue;  // an empty cell says it
      const std::string words = cell_number(value, std::min(room, 5));
      // A small hatched cell says it already.
      if (words.empty() || (!std::isfinite(value) && p.cell_w < ui.px(26))) continue;
      const ImVec2 size = ui.measure(font, words);
      const ImVec2 at = {p.rect.x0 + (static_cast<float>(c) + 0.5f) * p.cell_w - size.x / 2,
                         p.rect.y0 + (static_cast<float>(r) + 0.5f) * p.cell_h - size.y / 2};
      const Color ink = std::isfinite(value) ? ink_on(color_at(scale, value)) : ui.theme.muted;
      list->AddText(font, font->FontSize, {std::round(at.x), std::round(at.y)}, to_u32(ink),
                    words.data(), words.data() + words.size());
    }
  }
}

void draw_lit(Ui& ui, const PlacedPane& p, const CellLink& lit) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float thick = std::max(1.5f, ui.px(1.75f));
  const float x = p.rect.x0, y = p.rect.y0;
  const auto frame = [&](Rect r, Color color) {
    // A frame around a very small cell must still be seen.
    const float grow_x = std::max(0.0f, (ui.px(5) - r.width()) / 2);
    const float grow_y = std::max(0.0f, (ui.px(5) - r.height()) / 2);
    list->AddRect({r.x0 - grow_x - 1, r.y0 - grow_y - 1}, {r.x1 + grow_x + 1, r.y1 + grow_y + 1},
                  to_u32(color), ui.px(2), 0, thick);
  };
  const auto row = [&] { return y + static_cast<float>(*lit.row) * p.cell_h; };
  const auto column = [&] { return x + static_cast<float>(*lit.column) * p.cell_w; };
  if (lit.row) frame({x, row(), p.rect.x1, row() + p.cell_h}, ui.theme.q);
  if (lit.column) frame({column(), y, column() + p.cell_w, p.rect.y1}, ui.theme.k);
  if (lit.row && lit.column) {
    frame({column(), row(), column() + p.cell_w, row() + p.cell_h}, ui.theme.text);
  }
}

}  // namespace

void draw_heatmap(Ui& ui, const Trace& trace, const PagePane& p, const Rect& r, float gap) {
  HeatmapQuad quad = quad_of(trace, p, r, gap, ui.scale);
  quad.scale = scale_of(ui, trace, p.tensor);
  ui.heatmaps.draw(ImGui::GetWindowDrawList(), quad);
}

PaneEvents draw_pane(Ui& ui, const Trace& trace, const PlacedPane& p, const CellLink& lit,
                     std::string_view id, const std::string& caption, const ColorScale* scale,
                     const float* data, std::uint64_t data_key) {
  const Pane& pane = p.pane->pane;
  HeatmapQuad quad = quad_of(
      trace, *p.pane, p.rect,
      std::min(p.cell_w, p.cell_h) >= 5 ? std::max(1.0f, std::round(ui.scale)) : 0.0f, ui.scale);
  quad.scale = scale ? *scale : scale_of(ui, trace, p.pane->tensor);
  if (data) {
    quad.data = data;
    quad.key = data_key;
  }
  ImGui::GetWindowDrawList()->AddRectFilled(p.rect.min(), p.rect.max(), to_u32(ui.theme.line));
  ui.heatmaps.draw(ImGui::GetWindowDrawList(), quad);
  draw_numbers(ui, p, quad.scale, quad.data);
  if (p.row_labels) draw_row_labels(ui, trace, p, lit);
  if (p.column_labels) draw_column_labels(ui, trace, p, lit);
  const std::string& name = trace.program().tensors[static_cast<std::size_t>(p.pane->tensor)].name;
  if (pane.role == PaneRole::kTop) {
    ui.text(ui.fonts.strong, {p.rect.x1 + ui.px(10), (p.rect.y0 + p.rect.y1) / 2 - ui.px(8)},
            tensor_color(ui.theme, name), caption);
  } else if (pane.role == PaneRole::kRowVector) {
    ui.text(ui.fonts.note, {p.rect.x1 + ui.px(10), p.rect.y0 - ui.px(1)}, ui.theme.muted, caption);
  } else {
    const float width = ui.measure(ui.fonts.strong, caption).x;
    const float x = (p.rect.x0 + p.rect.x1 - width) / 2;
    ui.text(ui.fonts.strong, {x, p.rect.y1 + ui.px(5)}, tensor_color(ui.theme, name), caption);
  }
  draw_lit(ui, p, lit);

  PaneEvents events;
  bool over = false;
  events.clicked = ui.hot(id, p.rect, &over, true, FocusKind::kPane);
  if (ui.activated(id) && lit.row && lit.column) {
    events.hovered = std::pair{*lit.row, *lit.column};
    return events;
  }
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  if ((over || events.clicked) && p.rect.contains(mouse)) {
    const auto r = static_cast<std::int64_t>((mouse.y - p.rect.y0) / p.cell_h);
    const auto c = static_cast<std::int64_t>((mouse.x - p.rect.x0) / p.cell_w);
    if (r >= 0 && c >= 0 && r < pane.rows && c < pane.columns) events.hovered = std::pair{r, c};
  }
  if (events.hovered) {
    const auto [r, c] = *events.hovered;
    cell_tooltip(ui, trace, *p.pane, r, c, quad.data[r * pane.row_stride + c * pane.column_stride]);
  } else {
    events.clicked = false;
  }
  return events;
}

float draw_legend(Ui& ui, ImVec2 at, float height, const ColorScale& scale,
                  std::string_view title) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  ui.text(ui.fonts.note, at, ui.theme.muted, title);
  const float top = at.y + ui.px(20), width = ui.px(10);
  constexpr int kSteps = 48;
  const bool diverging = scale.map == ColorMap::kDiverging;
  for (int i = 0; i < kSteps; ++i) {
    const float t = 1.0f - (static_cast<float>(i) + 0.5f) / kSteps;
    const float value = diverging ? (2 * t - 1) * scale.limit : t * scale.limit;
    const float y0 = top + height * static_cast<float>(i) / kSteps;
    list->AddRectFilled({at.x, y0}, {at.x + width, y0 + height / kSteps + 1},
                        to_u32(color_at(scale, value)));
  }
  list->AddRect({at.x, top}, {at.x + width, top + height + 1}, to_u32(ui.theme.line));
  const float x = at.x + width + ui.px(8), half = ui.fonts.mono_small->FontSize / 2;
  ui.text(ui.fonts.mono_small, {x, top - half + ui.px(4)}, ui.theme.muted,
          number_text(scale.limit, 3));
  if (diverging) {
    ui.text(ui.fonts.mono_small, {x, top + height / 2 - half}, ui.theme.muted, "0");
    ui.text(ui.fonts.mono_small, {x, top + height - half - ui.px(4)}, ui.theme.muted,
            number_text(-scale.limit, 3));
  } else {
    ui.text(ui.fonts.mono_small, {x, top + height - half - ui.px(4)}, ui.theme.muted, "0");
  }
  return ui.px(20) + height;
}

void cell_tooltip(Ui& ui, const Trace& trace, const PagePane& p, std::int64_t r, std::int64_t c,
                  float value) {
  const TensorSpec& spec = trace.program().tensors[static_cast<std::size_t>(p.tensor)];
  const auto name_of = [&](std::string_view axis, const std::string& tick, std::int64_t i) {
    const bool token = axis == "query" || axis == "key" || axis == "position" || axis == "vocab";
    std::string text = std::string(axis) + " " + std::to_string(i);
    if (token) text += "  " + token_label(tick);
    return text;
  };
  ImGui::PushFont(ui.fonts.control);
  ImGui::BeginTooltip();
  ImGui::PushStyleColor(ImGuiCol_Text, to_vec4(ui.theme.muted));
  ImGui::TextUnformatted(spec.name.c_str());
  if (!p.pane.row_axis.empty()) {
    ImGui::TextUnformatted(name_of(p.pane.row_axis, row_label(trace, p.pane, r), r).c_str());
  }
  ImGui::TextUnformatted(name_of(p.pane.column_axis, column_label(trace, p.pane, c), c).c_str());
  ImGui::PopStyleColor();
  ImGui::PushFont(ui.fonts.mono);
  ImGui::TextUnformatted(exact_number(value).c_str());
  ImGui::PopFont();
  ImGui::EndTooltip();
  ImGui::PopFont();
}

}  // namespace headlight
