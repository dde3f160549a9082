// The Numbers tab: one cell's title, its arithmetic in a line, its terms.
#include <algorithm>
#include <cmath>

#include "app/ui/inspector/inspector.h"
#include "app/ui/matrix/place_words.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/explain/arithmetic.h"

namespace headlight {
namespace {

constexpr std::size_t kTermsInLine = 3;

std::string index_text(const Trace& trace, const CellRef& cell) {
  const TensorSpec& spec = trace.program().tensors[static_cast<std::size_t>(cell.tensor)];
  std::string text = spec.name + " [";
  for (std::size_t a = spec.axes[0].name == "batch" ? 1 : 0; a < cell.index.size(); ++a) {
    if (text.back() != '[') text += ", ";
    text += std::to_string(cell.index[a]);
  }
  return text.ends_with('[') ? spec.name : text + "]";
}

// A number that is no number says where that came from; a click goes there.
void draw_special(InspectorColumn& c, const Inspected& now) {
  if (!now.special_from) return;
  Ui& ui = c.ui;
  const CellRef& from = *now.special_from;
  const double value = now.explanation.value;
  const std::string number = number_text(value);
  const bool here = from == now.explanation.cell;
  const bool mask = c.trace.program().is_own_mask(from.tensor);
  const std::string cell = to_field_text(cell_text(c.trace, from));
  const std::string words =
      here   ? ui.tr("inspector.special_here", {{"value", number}})
      : mask ? ui.tr("inspector.special_mask", {{"value", number}})
             : ui.tr("inspector.special_from", {{"value", number}, {"cell", cell}});
  const Color color = std::isnan(value) ? ui.theme.error : ui.theme.muted;
  const float height = ui.wrapped(ui.fonts.control, {c.x, c.y}, c.width(), color, words);
  if (!here && ui.hot("inspector/special", {c.x, c.y, c.right, c.y + height})) {
    ui.push(pick_of(c.trace, from));
  }
  c.y += height + ui.px(8);
}

// Breaks a line of arithmetic before "+" and "=" only, so that no product and no number is torn;
// within one piece where that alone is too wide. Returns the height.
float wrapped_arithmetic(Ui& ui, ImFont* font, ImVec2 at, float width, std::string_view line) {
  const float advance = std::round(font_size(font) * 1.45f);
  float x = at.x, y = at.y;
  while (!line.empty()) {
    const std::size_t next = std::min(line.find(" + ", 1), line.find(" = ", 1));
    std::string_view piece = line.substr(0, next);
    line = next == line.npos ? "" : line.substr(next);
    if (x > at.x && x + ui.measure(font, piece).x > at.x + width) {
      x = at.x;
      y += advance;
    }
    if (x == at.x && piece.starts_with(" ")) piece.remove_prefix(1);
    const float piece_width = ui.measure(font, piece).x;
    if (piece_width > width) {
      y += ui.wrapped(font, {x, y}, width, ui.theme.text, piece);
      x = at.x;
      continue;
    }
    ui.text(font, {x, y}, ui.theme.text, piece);
    x += piece_width;
  }
  return y - at.y + (x > at.x ? advance : 0);
}

// "q(“it”) · k(“animal”) = (−1.673 × (−3.026)) + … = 4.555"
void draw_line(InspectorColumn& c, const Explanation& e) {
  Ui& ui = c.ui;
  LineStyle style;
  style.most = kTermsInLine;
  style.language = ui.language;
  style.label = token_label;
  const std::string line = arithmetic_line(c.trace, e, style);
  if (line.empty()) return;
  c.y += wrapped_arithmetic(ui, ui.fonts.mono, {c.x, c.y}, c.width(), line) + ui.px(8);
}

// "d(S masked)[the₁₄, cats₂₈]": a name too long for its line goes on in the next, from an index on.
void draw_title(InspectorColumn& c, std::string_view title, float room) {
  Ui& ui = c.ui;
  ImFont* font = ui.fonts.sentence;
  while (!title.empty()) {
    std::size_t end = title.size();
    while (end != title.npos && ui.measure(font, title.substr(0, end)).x > room) {
      const std::size_t comma = title.rfind(", ", end - 2);
      if (comma == title.npos) break;
      end = comma + 1;
    }
    ui.user_text(font, {c.x, c.y}, ui.theme.text, title.substr(0, end), room);
    c.y += ui.px(28);
    title.remove_prefix(std::min(end + 1, title.size()));
  }
}

}  // namespace

void inspector_numbers(InspectorColumn& c, const Inspected& now) {
  Ui& ui = c.ui;
  const Explanation& e = now.explanation;
  inspector_trail(c);
  const Program& program = c.trace.program();
  const bool counts = program.tensors[place(e.cell.tensor)].role == Role::kTokenIds;
  const std::string number = counts ? plain_number(e.value) : line_number(e, e.value);
  const float number_width = ui.measure(ui.fonts.sentence, number).x;
  ui.text_right(ui.fonts.sentence, c.right, c.y, ui.theme.text, number);
  draw_title(c, cell_title(c.trace, e.cell, token_label), c.width() - number_width - ui.px(10));
  ui.user_text(ui.fonts.mono_small, {c.x, c.y}, ui.theme.muted, index_text(c.trace, e.cell),
               c.width());
  c.y += ui.px(22);
  draw_special(c, now);
  draw_line(c, e);
  c.y += ui.wrapped(ui.fonts.note, {c.x, c.y}, c.width(), ui.theme.muted,
                    std::string(ui.tr("inspector.op." + e.operation)) +
                        (e.formula.empty() ? "" : ": " + e.formula)) +
         ui.px(10);
  for (const Message& note : e.notes) {
    c.y +=
        ui.wrapped(ui.fonts.note, {c.x, c.y}, c.width(), ui.theme.muted, say(ui.language, note)) +
        ui.px(6);
  }
  for (const Quantity& q : e.quantities) {
    std::string value = plain_number(q.value);
    if (q.names_outcome)
      value = ui.tr("inspector.outcome", {{"name", place_label(ui, c.trace, program.outcome_axis(),
                                                               static_cast<std::int64_t>(q.value))},
                                          {"id", value}});
    inspector_fact(c, ui.tr("inspector.quantity." + q.name), value);
  }
  if (program.is_gradient(e.cell.tensor)) inspector_nudge(c, now);
  if (!e.terms.empty()) inspector_terms(c, e);
  inspector_next(c, e.cell);
}

}  // namespace headlight
