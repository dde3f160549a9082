// The inspector: how one number came about, and where it goes.
#include <algorithm>
#include <cmath>

#include "app/ui/commands.h"
#include "app/ui/pane_view.h"
#include "app/ui/panels.h"
#include "core/explain.h"
#include "core/page.h"
#include "core/steps.h"
#include "core/text/number_text.h"
#include "core/text/utf8.h"

namespace headlight {
namespace {

constexpr std::size_t kTermsShown = 10;

struct Column {
  const AppState& state;
  Ui& ui;
  const Trace& trace;
  float x, y, right;
  float width() const { return right - x; }
};

std::string short_name(const std::string& name) {
  // "blocks.1.attn.scores_raw" -> "scores_raw"
  const std::size_t dot = name.find_last_of('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

// "S[it, animal]": the symbol with the labels of the two visible axes.
std::string cell_title(const Trace& trace, const CellRef& cell) {
  const TensorSpec& spec = trace.program().tensors[static_cast<std::size_t>(cell.tensor)];
  std::string text(tensor_symbol(spec.name));
  text += "[";
  bool first = true;
  for (std::size_t a = 0; a < spec.axes.size(); ++a) {
    if (spec.axes[a].name == "batch" || spec.axes[a].name == "head") continue;
    if (!first) text += ", ";
    first = false;
    text += token_label(trace.tick(spec.axes[a].name, cell.index[a]));
  }
  return text + "]";
}

std::string index_text(const Trace& trace, const CellRef& cell) {
  const TensorSpec& spec = trace.program().tensors[static_cast<std::size_t>(cell.tensor)];
  std::string text = spec.name + " [";
  for (std::size_t a = spec.axes[0].name == "batch" ? 1 : 0; a < cell.index.size(); ++a) {
    if (text.back() != '[') text += ", ";
    text += std::to_string(cell.index[a]);
  }
  return text + "]";
}

void section(Column& c, std::string_view title) {
  c.y += c.ui.px(14);
  c.ui.text(c.ui.fonts.strong, {c.x, c.y}, c.ui.theme.text, title, c.width());
  c.y += c.ui.px(24);
}

// name ........ number
void fact(Column& c, std::string_view name, const std::string& number) {
  c.ui.user_text(c.ui.fonts.control, {c.x, c.y}, c.ui.theme.muted, name, c.width() - c.ui.px(90));
  c.ui.text_right(c.ui.fonts.mono, c.right, c.y, c.ui.theme.text, number);
  c.y += c.ui.px(22);
}

PickCell pick(const Trace& trace, const CellRef& cell) {
  return {{trace.program().tensors[static_cast<std::size_t>(cell.tensor)].name, cell.index}, true};
}

std::string_view symbol_of(const Trace& trace, const CellRef& cell) {
  return cell.tensor < 0
             ? ""
             : tensor_symbol(trace.program().tensors[static_cast<std::size_t>(cell.tensor)].name);
}

// Terms that run along an axis are told apart by their place on it; single ones by their tensor.
bool runs_along_axis(const Explanation& e, const Term& term) {
  return std::count_if(e.terms.begin(), e.terms.end(),
                       [&](const Term& t) { return t.cell.tensor == term.cell.tensor; }) > 1;
}

std::string term_name(const Trace& trace, const Term& term, const Explanation& e) {
  if (term.cell.tensor < 0) return "const";
  if (!runs_along_axis(e, term)) return std::string(symbol_of(trace, term.cell));
  const TensorSpec& spec = trace.program().tensors[static_cast<std::size_t>(term.cell.tensor)];
  return token_label(trace.tick(spec.axes.back().name, term.cell.index.back()));
}

// Where the columns of the table of terms end.
struct TermColumns {
  ImFont* font;
  float bar, name, value, factor, product;
};

TermColumns term_columns(const Column& c) {
  const bool narrow = c.width() < c.ui.px(300);
  TermColumns t{};
  t.font = narrow ? c.ui.fonts.mono_small : c.ui.fonts.mono;
  t.bar = c.ui.px(narrow ? 34 : 44);
  const float step = c.ui.px(narrow ? 58 : 70);
  t.product = c.right - t.bar - c.ui.px(8);
  t.factor = t.product - step;
  t.value = t.factor - step;
  t.name = t.value - c.ui.px(narrow ? 46 : 54);
  return t;
}

void draw_term_head(Column& c, const Explanation& e, const TermColumns& t) {
  const Term& first = e.terms[by_size(e.terms)[0]];
  Ui& ui = c.ui;
  const std::string& axis =
      first.cell.tensor < 0
          ? std::string()
          : c.trace.program().tensors[static_cast<std::size_t>(first.cell.tensor)].axes.back().name;
  const bool along = runs_along_axis(e, first);
  const auto color = [&](const CellRef& cell) {
    const Color own =
        cell.tensor < 0
            ? ui.theme.text
            : tensor_color(ui.theme,
                           c.trace.program().tensors[static_cast<std::size_t>(cell.tensor)].name);
    return own == ui.theme.text ? ui.theme.muted : own;
  };
  ui.text(ui.fonts.note, {c.x, c.y}, ui.theme.muted,
          !along                                   ? "from"
          : axis == "d_head"                       ? "d"
          : axis == "feature" || axis == "d_model" ? "f"
                                                   : axis);
  ui.text_right(ui.fonts.note, t.value, c.y, color(first.cell),
                along ? symbol_of(c.trace, first.cell) : "value");
  const bool from_cell = !first.factor_cells.empty() && along;
  ui.text_right(
      ui.fonts.note, t.factor, c.y, from_cell ? color(first.factor_cells[0]) : ui.theme.muted,
      from_cell && first.note.empty() ? symbol_of(c.trace, first.factor_cells[0]) : "factor");
  ui.text_right(ui.fonts.note, t.product, c.y, ui.theme.muted, "product");
  c.y += ui.px(20);
}

void draw_term(Column& c, const Explanation& e, std::size_t i, double largest,
               const TermColumns& t) {
  Ui& ui = c.ui;
  const Term& term = e.terms[i];
  const float height = ui.px(22);
  const Rect line{c.x - ui.px(6), c.y, c.right + ui.px(6), c.y + height};
  bool over = false;
  if (ui.hot("term/" + std::to_string(i), line, &over) && term.cell.tensor >= 0)
    ui.push(pick(c.trace, term.cell));
  if (over) {
    ImGui::GetWindowDrawList()->AddRectFilled(line.min(), line.max(), to_u32(ui.theme.selection),
                                              ui.px(4));
    std::string help =
        term.cell.tensor < 0 ? "a constant" : to_field_text(cell_text(c.trace, term.cell));
    help += " = " + exact_number(static_cast<float>(term.value));
    for (const CellRef& f : term.factor_cells)
      help += "\nfactor from " + to_field_text(cell_text(c.trace, f));
    if (!term.note.empty()) help += "\n" + term.note;
    ui.tooltip(help);
  }
  const float y = c.y + (height - t.font->FontSize) / 2;
  ui.user_text(t.font, {c.x, y}, ui.theme.muted, term_name(c.trace, term, e), t.name - c.x);
  ui.text_right(t.font, t.value, y, ui.theme.text, number_text(term.value));
  ui.text(t.font, {t.value + ui.px(2), y}, ui.theme.muted, "×");
  ui.text_right(t.font, t.factor, y, ui.theme.text, number_text(term.factor));
  ui.text(t.font, {t.factor + ui.px(2), y}, ui.theme.muted, "=");
  ui.text_right(t.font, t.product, y, ui.theme.text, signed_number(term.product()));
  const double share =
      largest > 0 && std::isfinite(term.product()) ? std::fabs(term.product()) / largest : 0;
  ImGui::GetWindowDrawList()->AddRectFilled(
      {c.right - t.bar, c.y + ui.px(5)},
      {c.right - t.bar + t.bar * static_cast<float>(share), c.y + ui.px(17)},
      to_u32(term.product() < 0 ? ui.theme.negative : ui.theme.positive), ui.px(2));
  c.y += height;
}

// Whole numbers that count or name something are written without decimals.
std::string plain_number(double value) {
  const bool whole = std::floor(value) == value && std::fabs(value) < 1e6;
  return whole
             ? number_text(value, 1 + static_cast<int>(std::log10(std::max(1.0, std::fabs(value)))))
             : number_text(value, 5);
}

// The row of a softmax: each score, its exponential, and its share of the row's sum.
void draw_exponentials(Column& c, const Explanation& e) {
  Ui& ui = c.ui;
  double sum = 0;
  for (const Term& term : e.terms) sum += term.inner.value_or(0);
  std::vector<std::size_t> order(e.terms.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return e.terms[a].inner.value_or(-1) > e.terms[b].inner.value_or(-1);
  });
  const float share_left = c.right - ui.px(52), exp_right = share_left - ui.px(10),
              value_right = exp_right - ui.px(72);
  c.y += ui.px(4);
  ui.text(ui.fonts.note, {c.x, c.y}, ui.theme.muted, "key");
  ui.text_right(ui.fonts.note, value_right, c.y, ui.theme.muted, "x");
  ui.text_right(ui.fonts.note, exp_right, c.y, ui.theme.muted, "exp(x − max)");
  ui.text(ui.fonts.note, {share_left, c.y}, ui.theme.muted, "of the sum");
  c.y += ui.px(20);
  double rest = 0;
  std::size_t left_out = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const Term& term = e.terms[order[k]];
    if (!term.inner) continue;
    const bool own = term.cell.index == e.cell.index;
    if (k >= kTermsShown && !own) {
      rest += *term.inner;
      ++left_out;
      continue;
    }
    const Rect line{c.x - ui.px(6), c.y, c.right + ui.px(6), c.y + ui.px(22)};
    bool over = false;
    if (ui.hot("term/" + std::to_string(order[k]), line, &over)) ui.push(pick(c.trace, term.cell));
    if (over || own)
      ImGui::GetWindowDrawList()->AddRectFilled(line.min(), line.max(), to_u32(ui.theme.selection),
                                                ui.px(4));
    const float y = c.y + ui.px(3);
    const TensorSpec& spec = c.trace.program().tensors[static_cast<std::size_t>(term.cell.tensor)];
    const std::string token =
        token_label(c.trace.tick(spec.axes.back().name, term.cell.index.back()));
    ui.user_text(own ? ui.fonts.strong : ui.fonts.control, {c.x, y}, ui.theme.text, token,
                 value_right - ui.px(56) - c.x);
    ui.text_right(ui.fonts.mono, value_right, y, ui.theme.text, number_text(term.value));
    ui.text_right(ui.fonts.mono, exp_right, y, ui.theme.text, number_text(*term.inner));
    const float share = static_cast<float>(*term.inner / sum);
    ImGui::GetWindowDrawList()->AddRectFilled({share_left, c.y + ui.px(5)},
                                              {share_left + ui.px(52) * share, c.y + ui.px(17)},
                                              to_u32(ui.theme.pattern), ui.px(2));
    c.y += ui.px(22);
  }
  if (left_out > 0) fact(c, "+ " + std::to_string(left_out) + " smaller ones", number_text(rest));
  ImGui::GetWindowDrawList()->AddLine({c.x, c.y + ui.px(4)}, {c.right, c.y + ui.px(4)},
                                      to_u32(ui.theme.line));
  c.y += ui.px(12);
  fact(c, "own exponential ÷ row sum", number_text(e.value, 5));
}

void draw_terms(Column& c, const Explanation& e) {
  Ui& ui = c.ui;
  if (std::any_of(e.terms.begin(), e.terms.end(),
                  [](const Term& t) { return t.inner.has_value(); })) {
    return draw_exponentials(c, e);
  }
  const std::vector<std::size_t> order = by_size(e.terms);
  double largest = 0;
  for (const Term& term : e.terms) {
    if (std::isfinite(term.product())) largest = std::max(largest, std::fabs(term.product()));
  }
  double rest = 0;
  const std::size_t shown = std::min(kTermsShown, order.size());
  const TermColumns columns = term_columns(c);
  draw_term_head(c, e, columns);
  for (std::size_t k = 0; k < shown; ++k) draw_term(c, e, order[k], largest, columns);
  for (std::size_t k = shown; k < order.size(); ++k) rest += e.terms[order[k]].product();
  c.y += ui.px(4);
  if (shown < order.size()) {
    fact(c, "and " + std::to_string(order.size() - shown) + " smaller terms", signed_number(rest));
  }
  c.y += ui.px(4);
  ImGui::GetWindowDrawList()->AddLine({c.x, c.y}, {c.right, c.y}, to_u32(ui.theme.line));
  c.y += ui.px(8);
  const std::string count =
      std::to_string(e.terms.size()) + (e.terms.size() == 1 ? " term" : " terms");
  fact(c, "sum of " + count, signed_number(e.sum()));
}

// The cell's way through the operations that keep its place: scale, mask, softmax.
void draw_where_it_goes(Column& c, const CellRef& cell) {
  const Program& program = c.trace.program();
  TensorId id = program.resolve(cell.tensor);
  bool headed = false;
  for (const OpCall& call : program.calls) {
    const bool keeps_place = call.op == Op::kScale || call.op == Op::kMask ||
                             call.op == Op::kSoftmax || call.op == Op::kRelu ||
                             call.op == Op::kGelu || call.op == Op::kGeluTanh;
    if (!keeps_place || program.resolve(call.in[0]) != id) continue;
    if (!headed) section(c, "Where it goes");
    headed = true;
    const TensorView t = c.trace.tensor(call.out);
    fact(c, short_name(std::string(t.name)), number_text(t.at(cell.index)));
    id = call.out;
  }
}

// A row of weights as bars, strongest first where there are too many.
void draw_row_bars(Column& c, const CellRef& cell) {
  Ui& ui = c.ui;
  const Program& program = c.trace.program();
  TensorId id = cell.tensor;
  const std::string& name = program.tensors[static_cast<std::size_t>(id)].name;
  const std::size_t scores = name.find("attn.scores");
  if (scores != std::string::npos) id = program.find(name.substr(0, scores) + "attn.pattern");
  if (name == "logits") id = program.find("probs");
  if (id < 0 || !shows_weights(program, id)) return;
  const TensorView t = c.trace.tensor(id);
  std::vector<std::int64_t> index = cell.index;
  const Axis& axis = t.axes.back();
  std::vector<std::pair<float, std::int64_t>> row;
  for (std::int64_t j = 0; j < axis.size; ++j) {
    index.back() = j;
    row.emplace_back(t.at(index), j);
  }
  const bool ranked = axis.name == "vocab" || row.size() > 14;
  if (ranked) {
    std::stable_sort(row.begin(), row.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
  }
  const std::size_t query = index.size() - 2;
  section(
      c, "Row “" + token_label(c.trace.tick(t.axes[query].name, index[query])) + "” after softmax");
  float largest = 1e-9f;
  for (const auto& [value, j] : row) largest = std::max(largest, value);
  const float label = std::min(ui.px(100), c.width() * 0.34f);
  const std::size_t shown = std::min<std::size_t>(row.size(), 14);
  double rest = 0;
  for (std::size_t i = shown; i < row.size(); ++i) rest += row[i].first;
  for (std::size_t i = 0; i < shown; ++i) {
    const auto [value, j] = row[i];
    const std::string token = token_label(c.trace.tick(axis.name, j));
    const bool own = j == cell.index.back();
    ImFont* font = own ? ui.fonts.strong : ui.fonts.control;
    const float width = std::min(label, ui.measure(font, token).x);
    ui.user_text(font, {c.x + label - width, c.y}, own ? ui.theme.text : ui.theme.muted, token,
                 label);
    const float bar = (c.width() - label - ui.px(70)) * value / largest;
    const float x = c.x + label + ui.px(10);
    ImGui::GetWindowDrawList()->AddRectFilled({x, c.y + ui.px(3)},
                                              {x + std::max(bar, 1.0f), c.y + ui.px(14)},
                                              to_u32(ui.theme.pattern), ui.px(2));
    ui.text(ui.fonts.mono_small, {x + std::max(bar, 1.0f) + ui.px(8), c.y + ui.px(1)},
            ui.theme.muted, number_text(value, 3));
    c.y += ui.px(20);
  }
  if (shown < row.size())
    fact(c, std::to_string(row.size() - shown) + " more, together", number_text(rest, 3));
}

void draw_cell(Column& c, const CellRef& cell) {
  Ui& ui = c.ui;
  const Explanation e = explain(c.trace, cell.tensor, cell.index);
  const bool counts = e.operation == "input" && cell.tensor == c.trace.program().token_ids;
  const std::string number = counts ? plain_number(e.value) : number_text(e.value, 5);
  const float number_width = ui.measure(ui.fonts.sentence, number).x;
  ui.user_text(ui.fonts.sentence, {c.x, c.y}, ui.theme.text, cell_title(c.trace, cell),
               c.width() - number_width - ui.px(10));
  ui.text_right(ui.fonts.sentence, c.right, c.y, ui.theme.text, number);
  c.y += ui.px(28);
  ui.user_text(ui.fonts.mono_small, {c.x, c.y}, ui.theme.muted, index_text(c.trace, cell),
               c.width());
  c.y += ui.px(20);
  c.y += ui.wrapped(ui.fonts.control, {c.x, c.y}, c.width(), ui.theme.muted,
                    e.phrase + (e.formula.empty() ? "" : ": " + e.formula)) +
         ui.px(10);
  for (const Quantity& q : e.quantities) fact(c, q.name, plain_number(q.value));
  if (!e.terms.empty()) draw_terms(c, e);
  draw_where_it_goes(c, cell);
  draw_row_bars(c, cell);
}

}  // namespace

void panel_inspector(const AppState& state, Ui& ui, const Rect& r, bool open) {
  ui.begin_panel("inspector", r, open);
  if (!open) {
    if (ui.hot("view/inspector", r)) ui.push(DoCommand{Command::kToggleInspector});
    ui.text(ui.fonts.control, {r.x0 + ui.px(10), r.y0 + ui.px(10)}, ui.theme.muted, "«");
    ui.end_panel();
    return;
  }
  const float scroll = ImGui::GetScrollY();
  const float top = r.y0 - scroll;
  ui.text(ui.fonts.strong, {r.x0 + ui.px(20), top + ui.px(14)}, ui.theme.text, "Numbers");
  const Rect fold{r.x1 - ui.px(44), top + ui.px(6), r.x1 - ui.px(12), top + ui.px(36)};
  if (ui.hot("view/inspector", fold)) ui.push(DoCommand{Command::kToggleInspector});
  ui.text(ui.fonts.control, {fold.x0 + ui.px(12), top + ui.px(13)}, ui.theme.muted, "»");
  ImGui::GetWindowDrawList()->AddLine({r.x0, top + ui.px(42)}, {r.x1, top + ui.px(42)},
                                      to_u32(ui.theme.line));
  ImGui::GetWindowDrawList()->AddLine({r.x0 + ui.px(20), top + ui.px(42)},
                                      {r.x0 + ui.px(76), top + ui.px(42)}, to_u32(ui.theme.text),
                                      ui.px(2));
  if (state.derived.trace && state.derived.tokens_in_sentence > 0) {
    const Trace& trace = *state.derived.trace;
    Column c{state, ui, trace, r.x0 + ui.px(20), top + ui.px(58), r.x1 - ui.px(22)};
    const auto& picked = state.session.picked;
    const TensorId id = picked ? trace.program().find(picked->tensor) : -1;
    bool fits = id >= 0 && picked->index.size() == trace.tensor(id).axes.size();
    for (std::size_t a = 0; fits && a < picked->index.size(); ++a)
      fits = picked->index[a] < trace.tensor(id).axes[a].size;
    if (fits) {
      draw_cell(c, {id, picked->index});
    } else {
      ui.wrapped(ui.fonts.body, {c.x, c.y}, c.width(), ui.theme.muted,
                 "Click any cell to see how its number came about.");
    }
    ImGui::SetCursorScreenPos({c.x, c.y + ui.px(16)});
    ImGui::Dummy({1, 1});
  }
  ui.end_panel();
}

}  // namespace headlight
