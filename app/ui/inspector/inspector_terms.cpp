// The terms of a cell: one line each, with a bar for its share.
#include <algorithm>
#include <cmath>

#include "app/ui/inspector/inspector.h"
#include "app/ui/inspector/term_names.h"
#include "app/ui/matrix/pane_view.h"
#include "core/base/number_text.h"
#include "core/explain/arithmetic.h"
#include "core/view/row_detail.h"

namespace headlight {

void inspector_section(InspectorColumn& c, std::string_view title, bool names_token) {
  c.y += c.ui.px(14);
  if (names_token) {
    c.ui.user_text(c.ui.fonts.strong, {c.x, c.y}, c.ui.theme.text, title, c.width());
  } else {
    c.ui.text(c.ui.fonts.strong, {c.x, c.y}, c.ui.theme.text, title, c.width());
  }
  c.y += c.ui.px(24);
}

// name ........ number
void inspector_fact(InspectorColumn& c, std::string_view name, const std::string& number) {
  c.ui.user_text(c.ui.fonts.control, {c.x, c.y}, c.ui.theme.muted, name, c.width() - c.ui.px(90));
  c.ui.text_right(c.ui.fonts.mono, c.right, c.y, c.ui.theme.text, number);
  c.y += c.ui.px(22);
}

std::string plain_number(double value) {
  const bool whole = std::floor(value) == value && std::fabs(value) < 1e6;
  return whole
             ? number_text(value, 1 + static_cast<int>(std::log10(std::max(1.0, std::fabs(value)))))
             : number_text(value, 5);
}

PickCell pick_of(const Trace& trace, const CellRef& cell) {
  return {{trace.program().tensors[static_cast<std::size_t>(cell.tensor)].name, cell.index}, true};
}

void inspector_rest(InspectorColumn& c, std::string_view words, const std::string& number) {
  Ui& ui = c.ui;
  const bool all = c.state.session.all_terms;
  bool over = false;
  const Rect line{c.x - ui.px(6), c.y - ui.px(2), c.right + ui.px(6), c.y + ui.px(20)};
  if (ui.hot("inspector/all_terms", line, &over)) ui.push(ShowAllTerms{!all});
  if (over) {
    ImGui::GetWindowDrawList()->AddRectFilled(line.min(), line.max(), to_u32(ui.theme.selection),
                                              ui.px(4));
  }
  inspector_fact(c, words, number);
}

namespace {

constexpr std::size_t kTermsShown = 10;

std::string_view symbol_of(const Trace& trace, const CellRef& cell) {
  if (cell.tensor < 0) return "";
  return trace.program().tensors[static_cast<std::size_t>(cell.tensor)].symbol;
}

// "key", "position", "hidden": the axis in the person's language.
std::string_view axis_word(const Ui& ui, const std::string& axis) {
  return ui.tr("inspector.axis." + axis);
}

// Where the columns of the table of terms end.
struct TermColumns {
  ImFont* font;
  float bar, value, factor, product;
};

TermColumns term_columns(const InspectorColumn& c, bool narrow) {
  TermColumns t{};
  t.font = narrow ? c.ui.fonts.mono_small : c.ui.fonts.mono;
  t.bar = c.ui.px(narrow ? 34 : 44);
  const float step = c.ui.px(narrow ? 58 : 70);
  t.product = c.right - t.bar - c.ui.px(8);
  t.factor = t.product - c.ui.px(narrow ? 66 : 74);  // "−1.234e−5"
  t.value = t.factor - step;
  return t;
}

std::string term_name(const InspectorColumn& c, const TermNames& names, const Term& term) {
  return term.cell.tensor < 0 ? std::string(c.ui.tr("inspector.constant")) : names.name(term);
}

std::string signed_text(const Explanation& e, double value) {
  return (value > 0 ? "+" : "") + line_number(e, value);
}

// The larger figures in columns of one width, but where names of these terms would be cut beside
// them: then smaller ones, columns as wide as they have to be, and bars that give way.
TermColumns term_columns(const InspectorColumn& c, const TermNames& names, const Explanation& e,
                         std::span<const std::size_t> shown) {
  constexpr std::size_t kMeasured = 200;  // of thousands, once all are shown
  const Ui& ui = c.ui;
  TermColumns t = term_columns(c, c.width() < ui.px(300));
  const auto widest = [&](auto text_of) {
    float most = 0;
    for (const std::size_t i : shown.first(std::min(shown.size(), kMeasured)))
      most = std::max(most, ui.measure(t.font, text_of(e.terms[i])).x);
    return most;
  };
  const auto lacks = [&] {
    const float name = widest([&](const Term& x) { return term_name(c, names, x); });
    const float value = widest([&](const Term& x) { return line_number(e, x.value); });
    return c.x + name + ui.px(6) + value - t.value;
  };
  if (lacks() > 0) t = term_columns(c, true);
  if (lacks() > 0) {
    const float sign = ui.px(14);  // × and =
    const float product = widest([&](const Term& x) { return signed_text(e, x.product()); });
    const float factor = widest([&](const Term& x) { return line_number(e, x.factor); });
    t.factor = std::max(t.factor, t.product - product - sign);
    t.value = std::max(t.value, t.factor - factor - sign);
  }
  const float less = std::clamp(lacks(), 0.0f, t.bar - ui.px(10));
  t.bar -= less;
  t.product += less;
  t.factor += less;
  t.value += less;
  return t;
}

// Over the factors: the symbol of what they are, or how they came about, where that is the same for
// all and there is room, else "factor". A 1 did not come about: there the note is of the number.
std::string factor_head(const InspectorColumn& c, const Explanation& e, const Term& first,
                        bool along, float room) {
  const Ui& ui = c.ui;
  if (first.note.empty() && along && !first.factor_cells.empty())
    return std::string(symbol_of(c.trace, first.factor_cells[0]));
  const std::string note = say(ui.language, first.note);
  const bool common =
      std::ranges::all_of(e.terms, [&](const Term& term) { return term.note == first.note; });
  const bool made = std::ranges::any_of(e.terms, [](const Term& term) { return term.factor != 1; });
  if (!note.empty() && common && made && ui.measure(ui.fonts.note, note).x <= room) return note;
  return std::string(ui.tr("inspector.factor"));
}

// Symbols over the columns where all terms have them in common, else what the columns hold.
void draw_term_head(InspectorColumn& c, const Explanation& e, const TermNames& names,
                    const TermColumns& t) {
  const Term& first = e.terms[by_size(e.terms)[0]];
  Ui& ui = c.ui;
  const bool along = names.tensor() >= 0 && first.cell.tensor >= 0;
  const std::string axis = along ? names.axis() : "";
  const auto color = [&](const CellRef& cell) {
    const Color own = tensor_color(ui.theme, c.trace.program(), cell.tensor);
    return own == ui.theme.text ? ui.theme.muted : own;
  };
  ui.text(ui.fonts.note, {c.x, c.y}, ui.theme.muted,
          !along                                   ? ui.tr("inspector.from")
          : axis == "d_head"                       ? std::string_view("d")
          : axis == "feature" || axis == "d_model" ? std::string_view("f")
                                                   : axis_word(ui, axis));
  ui.text_right(ui.fonts.note, t.value, c.y, along ? color(first.cell) : ui.theme.muted,
                along ? symbol_of(c.trace, first.cell) : ui.tr("inspector.value"));
  const bool from_cell = !first.factor_cells.empty() && along;
  ui.text_right(ui.fonts.note, t.factor, c.y,
                from_cell ? color(first.factor_cells[0]) : ui.theme.muted,
                factor_head(c, e, first, along, t.factor - t.value - ui.px(8)));
  ui.text_right(ui.fonts.note, t.product, c.y, ui.theme.muted, ui.tr("inspector.product"));
  c.y += ui.px(20);
}

void draw_term(InspectorColumn& c, const Explanation& e, const TermNames& names, std::size_t i,
               double largest, const TermColumns& t) {
  Ui& ui = c.ui;
  const Term& term = e.terms[i];
  const float height = ui.px(22);
  if (!c.sees(height)) {  // thousands of terms, once all are shown
    c.y += height;
    return;
  }
  const Rect line{c.x - ui.px(6), c.y, c.right + ui.px(6), c.y + height};
  bool over = false;
  if (ui.hot("term/" + std::to_string(i), line, &over) && term.cell.tensor >= 0)
    ui.push(pick_of(c.trace, term.cell));
  if (over) {
    if (term.cell.tensor >= 0) ui.hovered_cell = pick_of(c.trace, term.cell).cell;
    ImGui::GetWindowDrawList()->AddRectFilled(line.min(), line.max(), to_u32(ui.theme.selection),
                                              ui.px(4));
    std::string help = term.cell.tensor < 0 ? std::string(ui.tr("inspector.constant"))
                                            : to_field_text(cell_text(c.trace, term.cell));
    help += " = " + exact_number(static_cast<float>(term.value));
    for (const std::string& cell : factor_texts(c.trace, term))
      help += "\n" + ui.tr("inspector.factor_from", {{"cell", to_field_text(cell)}});
    if (!term.note.empty()) help += "\n" + say(ui.language, term.note);
    ui.tooltip(help);
  }
  const float y = c.y + (height - font_size(t.font)) / 2;
  const auto number = [&](double x) { return line_number(e, x); };
  const std::string value = number(term.value);
  ui.user_text(t.font, {c.x, y}, ui.theme.muted, term_name(c, names, term),
               t.value - ui.measure(t.font, value).x - ui.px(6) - c.x);
  ui.text_right(t.font, t.value, y, ui.theme.text, value);
  ui.text(t.font, {t.value + ui.px(2), y}, ui.theme.muted, "×");
  ui.text_right(t.font, t.factor, y, ui.theme.text, number(term.factor));
  ui.text(t.font, {t.factor + ui.px(2), y}, ui.theme.muted, "=");
  ui.text_right(t.font, t.product, y, ui.theme.text, signed_text(e, term.product()));
  const double share =
      largest > 0 && std::isfinite(term.product()) ? std::fabs(term.product()) / largest : 0;
  ui.bar({c.right - t.bar, c.y + ui.px(5), c.right, c.y + ui.px(17)}, share,
         term.product() < 0 ? ui.theme.negative : ui.theme.positive);
  c.y += height;
}

// The row of a softmax: each score, its exponential, and its share of the row's sum.
void draw_exponentials(InspectorColumn& c, const Explanation& e) {
  Ui& ui = c.ui;
  double sum = 0;
  for (const Term& term : e.terms) sum += term.inner.value_or(0);
  std::vector<std::size_t> order(e.terms.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return e.terms[a].inner.value_or(-1) > e.terms[b].inner.value_or(-1);
  });
  const bool cooled = std::any_of(e.quantities.begin(), e.quantities.end(), [](const Quantity& q) {
    return q.name.starts_with("temperature");
  });
  const std::string_view power = cooled ? "exp((x − max)/τ)" : "exp(x − max)";
  const float share_left = c.right - ui.px(52), exp_right = share_left - ui.px(10),
              value_right = exp_right - ui.measure(ui.fonts.note, power).x - ui.px(8);
  c.y += ui.px(4);
  const std::string& axis =
      c.trace.program().tensors[static_cast<std::size_t>(e.cell.tensor)].axes.back().name;
  ui.text(ui.fonts.note, {c.x, c.y}, ui.theme.muted, axis_word(ui, axis));
  ui.text_right(ui.fonts.note, value_right, c.y, ui.theme.muted, "x");
  ui.text_right(ui.fonts.note, exp_right, c.y, ui.theme.muted, power);
  ui.text(ui.fonts.note, {share_left, c.y}, ui.theme.muted, ui.tr("inspector.of_the_sum"));
  c.y += ui.px(20);
  // One line says no more than the one term that it would stand for.
  const bool all = c.state.session.all_terms || order.size() <= kTermsShown + 1;
  double rest = 0;
  std::size_t left_out = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const Term& term = e.terms[order[k]];
    if (!term.inner) continue;
    const bool own = term.cell.index == e.cell.index;
    if (!all && k >= kTermsShown && !own) {
      rest += *term.inner;
      ++left_out;
      continue;
    }
    if (!c.sees(ui.px(22))) {
      c.y += ui.px(22);
      continue;
    }
    const Rect line{c.x - ui.px(6), c.y, c.right + ui.px(6), c.y + ui.px(22)};
    bool over = false;
    if (ui.hot("term/" + std::to_string(order[k]), line, &over))
      ui.push(pick_of(c.trace, term.cell));
    if (over) ui.hovered_cell = pick_of(c.trace, term.cell).cell;
    if (over || own)
      ImGui::GetWindowDrawList()->AddRectFilled(line.min(), line.max(), to_u32(ui.theme.selection),
                                                ui.px(4));
    const float y = c.y + ui.px(3);
    const TensorSpec& spec = c.trace.program().tensors[static_cast<std::size_t>(term.cell.tensor)];
    const std::string token =
        token_label(c.trace.name(spec.axes.back().name, term.cell.index.back()));
    ui.user_text(own ? ui.fonts.strong : ui.fonts.control, {c.x, y}, ui.theme.text, token,
                 value_right - ui.px(56) - c.x);
    ui.text_right(ui.fonts.mono, value_right, y, ui.theme.text, number_text(term.value));
    ui.text_right(ui.fonts.mono, exp_right, y, ui.theme.text, number_text(*term.inner));
    ui.bar({share_left, c.y + ui.px(5), share_left + ui.px(52), c.y + ui.px(17)}, *term.inner / sum,
           ui.theme.pattern);
    c.y += ui.px(22);
  }
  c.y += ui.px(4);
  if (left_out > 0) {
    inspector_rest(c, ui.tr("inspector.smaller", {{"n", std::to_string(left_out)}}),
                   signed_number(rest));
  } else if (order.size() > kTermsShown + 1) {
    inspector_rest(c, ui.tr("inspector.fewer"), "");
  }
  ImGui::GetWindowDrawList()->AddLine({c.x, c.y + ui.px(4)}, {c.right, c.y + ui.px(4)},
                                      to_u32(ui.theme.line));
  c.y += ui.px(12);
  inspector_fact(c, ui.tr("inspector.own_share"), line_number(e, e.value));
}

// x, less the mean, over the root, times w, plus b: what became of the one cell, where its terms
// (every cell of the row has a part in the mean) would hide that. True when there is such a way.
bool draw_way(InspectorColumn& c, const Explanation& e) {
  if (is_gradient(e)) return false;
  const auto row = row_of(c.trace, e.cell.tensor, e.cell.index);
  if (!row) return false;
  const auto at = static_cast<std::size_t>(e.cell.index.back());
  c.y += c.ui.px(4);
  for (const RowLine& line : row->lines) {
    inspector_fact(c, c.ui.tr("stage.row." + std::string(line.id)),
                   line_number(e, line.values[at]));
  }
  return true;
}

}  // namespace

void inspector_terms(InspectorColumn& c, const Explanation& e) {
  Ui& ui = c.ui;
  if (std::any_of(e.terms.begin(), e.terms.end(),
                  [](const Term& t) { return t.inner.has_value(); })) {
    return draw_exponentials(c, e);
  }
  // A sine of the position comes from no cell: the line above has said it all.
  if (std::ranges::all_of(e.terms, [](const Term& t) { return t.cell.tensor < 0; })) return;
  const std::string count = std::to_string(e.terms.size());
  if (draw_way(c, e)) {
    c.y += ui.px(6);
    if (!c.state.session.all_terms)
      return inspector_rest(c, ui.tr("inspector.terms", {{"n", count}}), "");
  }
  const std::vector<std::size_t> order = by_size(e.terms);
  double largest = 0;
  for (const Term& term : e.terms) {
    if (std::isfinite(term.product())) largest = std::max(largest, std::fabs(term.product()));
  }
  double rest = 0;
  const bool all = c.state.session.all_terms || order.size() <= kTermsShown + 1;
  const std::size_t shown = all ? order.size() : kTermsShown;
  const TermNames names(c.trace, e, ui.language);
  const TermColumns columns = term_columns(c, names, e, std::span(order).first(shown));
  draw_term_head(c, e, names, columns);
  for (std::size_t k = 0; k < shown; ++k) draw_term(c, e, names, order[k], largest, columns);
  for (std::size_t k = shown; k < order.size(); ++k) rest += e.terms[order[k]].product();
  c.y += ui.px(4);
  if (shown < order.size()) {
    inspector_rest(c, ui.tr("inspector.smaller", {{"n", std::to_string(order.size() - shown)}}),
                   signed_text(e, rest));
  } else if (order.size() > kTermsShown + 1) {
    inspector_rest(c, ui.tr("inspector.fewer"), "");
  }
  c.y += ui.px(4);
  ImGui::GetWindowDrawList()->AddLine({c.x, c.y}, {c.right, c.y}, to_u32(ui.theme.line));
  c.y += ui.px(8);
  inspector_fact(c,
                 ui.tr(e.terms.size() == 1 ? "inspector.sum_one" : "inspector.sum", {{"n", count}}),
                 signed_text(e, e.sum()));
}

}  // namespace headlight
