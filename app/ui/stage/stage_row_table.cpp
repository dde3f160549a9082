// One row of a step in the making, line by line: softmax from scores to weights, layer norm from x
// to its normalised row. The numbers are the trace's and explain()'s.
#include <algorithm>
#include <cmath>

#include "app/ui/experts/stage_experts.h"
#include "app/ui/frame/panels.h"
#include "app/ui/matrix/pane_view.h"
#include "app/ui/matrix/place_words.h"
#include "app/ui/stage/stage_motion.h"
#include "app/ui/stage/stage_view.h"
#include "core/base/number_text.h"
#include "core/explain/explain.h"

namespace headlight {
namespace {

struct TableMeasures {
  float title, line, name, column, rest;
};

// "÷ row sum", "× u"
std::string line_words(const Ui& ui, const Trace& trace, const RowDetail& detail, std::size_t l) {
  const TensorId id = detail.tensors[l];
  return ui.tr("stage.row." + std::string(detail.row.lines[l].id),
               {{"name", id < 0 ? "" : trace.program().tensors[place(id)].symbol}});
}

TableMeasures table_measures(const Ui& ui, const Trace& trace, const RowDetail& detail) {
  float name = 0;
  for (std::size_t l = 0; l < detail.row.lines.size(); ++l)
    name = std::max(name, ui.measure(ui.fonts.note, line_words(ui, trace, detail, l)).x);
  float column = ui.measure(ui.fonts.mono_small, "−0.0000").x + ui.px(10);
  // Few columns have room for their whole names.
  constexpr std::size_t kFew = 8;
  const std::size_t columns = detail.row.lines[0].values.size();
  for (std::size_t c = 0; c < columns && columns <= kFew; ++c) {
    const std::string tick = token_label(trace.name(detail.axis, static_cast<std::int64_t>(c)));
    column = std::max(column, std::min(ui.measure(ui.fonts.strong, tick).x, ui.px(90)) + ui.px(9));
  }
  return {ui.px(24), ui.px(16), name + ui.px(16), column, ui.px(74)};
}

// "row maximum" -> stage.quantity.row_maximum
std::string quantity_words(const Ui& ui, const std::string& name) {
  std::string id = "stage.quantity.";
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (plain) id += c;
    if (c == ' ' && id.back() != '_') id += '_';
  }
  while (id.back() == '_') id.pop_back();
  return ui.tr(id, {});
}

// Row “it”   row maximum 4.303   row sum 1.527
void draw_title(Ui& ui, const Trace& trace, const Rect& r, const RowDetail& detail) {
  const std::string row = ui.tr(
      "stage.row.title", {{"token", place_name(ui, trace, detail.row_axis, detail.position)}});
  float x = r.x0;
  const float room = std::min(ui.px(220), r.width() * 0.4f);
  ui.user_text(ui.fonts.strong, {x, r.y0}, ui.theme.text, row, room);
  x += std::min(room, ui.measure(ui.fonts.strong, row).x) + ui.px(20);
  for (const Quantity& q : detail.row.quantities) {
    const std::string name = quantity_words(ui, q.name), number = number_text(q.value, 5);
    const float name_width = ui.measure(ui.fonts.note, name).x + ui.px(6);
    const float width = name_width + ui.measure(ui.fonts.mono, number).x;
    if (x + width > r.x1) break;
    ui.text(ui.fonts.note, {x, r.y0 + ui.px(2)}, ui.theme.muted, name);
    ui.text(ui.fonts.mono, {x + name_width, r.y0 + ui.px(1)}, ui.theme.text, number);
    const std::string id = "label/quantity/" + q.name;
    ui.drawn.add(id, {x, r.y0}, {x + width, r.y0 + ui.px(18)});
    x += width + ui.px(20);
  }
}

// So wide that the names over the columns are read whole, where all columns have that room.
float column_width(const Ui& ui, const Trace& trace, const RowDetail& detail, float least,
                   float room) {
  const std::size_t count = detail.row.lines[0].values.size();
  if (!names_places(detail.axis) || static_cast<float>(count) * least > room) return least;
  float widest = least;
  for (std::size_t c = 0; c < count; ++c) {
    const std::string name = token_label(trace.name(detail.axis, static_cast<std::int64_t>(c)));
    widest = std::max(widest, ui.measure(ui.fonts.strong, name).x + ui.px(10));
  }
  return std::min(widest, room / static_cast<float>(count));
}

// The background that the numbers have in their matrix, for the lines that stand in one.
std::vector<std::optional<ColorScale>> scales_of(const Ui& ui, const Trace& trace,
                                                 const StepPage& page, const RowDetail& detail) {
  std::vector<std::optional<ColorScale>> scales(detail.tensors.size());
  for (std::size_t l = 0; l < scales.size(); ++l) {
    for (const PagePane& p : page.lines.back()) {
      if (p.tensor == detail.tensors[l]) scales[l] = colors_of(ui, trace, p).scale;
    }
  }
  return scales;
}

// How many numbers of the result's row are there already: all, unless the step is in the making.
std::int64_t made_columns(const AppState& state, const StepPage& page, const RowDetail& detail) {
  const std::optional<Motion> m = shown_motion(state);
  if (!m || m->phase == MotionPhase::kDone) return INT64_MAX;
  if (m->phase < MotionPhase::kRest) return m->phase == MotionPhase::kFill ? 1 : 0;
  return m->cells_done - detail.position * page.lines.back().back().pane.columns;
}

}  // namespace

std::string fitting_number(const Ui& ui, double value, float room) {
  for (int digits = 4; digits > 1; --digits) {
    std::string words = number_text(value, digits);
    if (ui.measure(ui.fonts.mono_small, words).x <= room) return words;
  }
  std::string words = number_text(value, 1);
  // Next to 1, which it must not be written as: 0.9999999 with what has room of it.
  constexpr double kNear = 0.1;
  const bool near_one = std::fabs(std::fabs(value) - 1) < kNear;
  const auto wide = [&](const std::string& text) {
    return ui.measure(ui.fonts.mono_small, text).x > room;
  };
  constexpr std::size_t kLeast = 3;
  if (!near_one || !wide(words)) return words;
  while (words.size() > kLeast && wide(words + "…")) words.pop_back();
  return words + "…";
}

DetailNeed row_table_need(const Ui& ui, const Trace& trace, const RowDetail& detail) {
  const TableMeasures m = table_measures(ui, trace, detail);
  const auto lines = static_cast<float>(detail.row.lines.size());
  DetailNeed need;
  need.band_height = m.title + m.line + lines * m.line;
  need.band_width = m.name + 4 * m.column + m.rest;
  // The words of its title may be wider than few columns.
  const auto columns = static_cast<float>(detail.row.lines[0].values.size());
  need.most_width = std::max(m.name + columns * m.column + ui.px(4), ui.px(460));
  return need;
}

std::optional<CellPick> draw_row_table(const AppState& state, Ui& ui, const Rect& r,
                                       const RowDetail& detail) {
  const Trace& trace = *state.derived.trace;
  const std::vector<RowLine>& lines = detail.row.lines;
  TableMeasures m = table_measures(ui, trace, detail);
  m.column = column_width(ui, trace, detail, m.column, r.x1 - r.x0 - m.name);
  draw_title(ui, trace, r, detail);
  const float top = r.y0 + m.title, first = r.x0 + m.name;
  const std::size_t all = lines[0].values.size();
  const auto fits = [&](float room) {
    return static_cast<std::size_t>(std::max(1.0f, std::floor(room / m.column)));
  };
  std::size_t count = fits(r.x1 - first);
  if (count < all) count = fits(r.x1 - first - m.rest);
  const bool largest = lines.back().adds_up;
  const std::vector<std::int64_t> columns =
      shown_columns(lines.back().values, detail.chosen, count, largest);

  const Program& program = trace.program();
  const StepPage page = step_page(trace, *current_step(state), shown_part(state));
  const auto scales = scales_of(ui, trace, page, detail);
  const std::int64_t made = made_columns(state, page, detail);
  ImDrawList* list = ImGui::GetWindowDrawList();
  std::optional<CellPick> hovered;
  Rect frame;
  for (std::size_t l = 0; l < lines.size(); ++l) {
    const float y = top + m.line * static_cast<float>(l + 1);
    ui.text(ui.fonts.note, {r.x0, y + ui.px(1)}, ui.theme.muted, line_words(ui, trace, detail, l),
            m.name);
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::int64_t c = columns[i];
    const float x = first + m.column * static_cast<float>(i);
    const Rect cells{x, top, x + m.column, top + m.line * static_cast<float>(lines.size() + 1)};
    const bool chosen = c == detail.chosen;
    bool over = false;
    std::vector<std::int64_t> index = detail.index;
    index.back() += c - detail.chosen;
    const CellPick pick{program.tensors[static_cast<std::size_t>(detail.result)].name, index};
    if (ui.hot("detail/" + std::to_string(c), cells, &over)) ui.push(PickCell{pick});
    if (over) hovered = pick;
    ImFont* font = chosen ? ui.fonts.strong : ui.fonts.note;
    const std::string tick = token_label(trace.name(detail.axis, c));
    const float room = m.column - ui.px(8);
    const float width = std::min(room, ui.measure(font, tick).x);
    ui.user_text(font, {x + m.column - ui.px(4) - width, top},
                 chosen ? ui.theme.text : ui.theme.muted, tick, room);
    for (std::size_t l = 0; l < lines.size(); ++l) {
      if (l + 1 == lines.size() && c >= made) continue;
      const double value = lines[l].values[static_cast<std::size_t>(c)];
      const float y = top + m.line * static_cast<float>(l + 1);
      Color ink = ui.theme.text;
      const std::optional<ColorScale>& scale = scales[l];
      if (scale && std::isfinite(value)) {
        const Color back = color_at(*scale, static_cast<float>(value));
        list->AddRectFilled({x, y}, {x + m.column - 1, y + m.line - 1}, to_u32(back));
        ink = ink_on(back);
      } else if (!std::isfinite(value)) {
        ink = std::isnan(value) ? ui.theme.error : ui.theme.muted;
      }
      ui.text_right(ui.fonts.mono_small, x + m.column - ui.px(4), y + ui.px(1), ink,
                    fitting_number(ui, value, m.column - ui.px(8)));
    }
    if (chosen) frame = {cells.x0 - 1, cells.y0 + m.line - 1, cells.x1, cells.y1};
  }
  if (frame.width() > 0) {  // behind the cells beside it, whose ground would cover it
    ui.drawn.add("detail/chosen", frame.min(), frame.max(), false);
    list->AddRect(frame.min(), frame.max(), to_u32(ui.theme.text), ui.px(2), 0,
                  std::max(1.5f, ui.px(1.75f)));
  }
  if (columns.size() == all) return hovered;
  // What does not fit is counted, and added up where that means something.
  const float right = r.x1 - ui.px(2);
  ui.text_right(
      ui.fonts.note, right, top, ui.theme.muted,
      ui.tr("stage.more", {{"n", count_text(static_cast<long long>(all - columns.size()))}}));
  for (std::size_t l = 0; l < lines.size(); ++l) {
    if (!lines[l].adds_up) continue;
    double rest = 0;
    for (std::size_t c = 0; c < lines[l].values.size(); ++c) {
      if (std::ranges::find(columns, static_cast<std::int64_t>(c)) == columns.end())
        rest += lines[l].values[c];
    }
    ui.text_right(ui.fonts.mono_small, right, top + m.line * static_cast<float>(l + 1) + ui.px(1),
                  ui.theme.muted, "Σ " + number_text(rest, 4));
  }
  return hovered;
}

}  // namespace headlight
