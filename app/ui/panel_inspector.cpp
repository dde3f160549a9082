// The inspector: how one number came about, and where it goes.
#include <algorithm>
#include <cmath>

#include "app/ui/commands.h"
#include "app/ui/inspector.h"
#include "app/ui/pane_view.h"
#include "app/ui/panels.h"
#include "core/explain.h"
#include "core/page.h"
#include "core/steps.h"
#include "core/text/number_text.h"
#include "core/text/utf8.h"

namespace headlight {
namespace {

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

// The cell's way through the operations that keep its place: scale, mask, softmax.
void draw_where_it_goes(InspectorColumn& c, const CellRef& cell) {
  const Program& program = c.trace.program();
  TensorId id = program.resolve(cell.tensor);
  bool headed = false;
  for (const OpCall& call : program.calls) {
    const bool keeps_place = call.op == Op::kScale || call.op == Op::kMask ||
                             call.op == Op::kSoftmax || call.op == Op::kRelu ||
                             call.op == Op::kGelu || call.op == Op::kGeluTanh;
    if (!keeps_place || program.resolve(call.in[0]) != id) continue;
    if (!headed) inspector_section(c, "Where it goes");
    headed = true;
    const TensorView t = c.trace.tensor(call.out);
    inspector_fact(c, short_name(std::string(t.name)), number_text(t.at(cell.index)));
    id = call.out;
  }
}

// A row of weights as bars, strongest first where there are too many.
void draw_row_bars(InspectorColumn& c, const CellRef& cell) {
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
  inspector_section(
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
    inspector_fact(c, std::to_string(row.size() - shown) + " more, together", number_text(rest, 3));
}

void draw_cell(InspectorColumn& c, const CellRef& cell) {
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
  for (const Quantity& q : e.quantities) inspector_fact(c, q.name, plain_number(q.value));
  if (!e.terms.empty()) inspector_terms(c, e);
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
  if (state.derived.trace && !state.derived.empty) {
    const Trace& trace = *state.derived.trace;
    InspectorColumn c{state, ui, trace, r.x0 + ui.px(20), top + ui.px(58), r.x1 - ui.px(22)};
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
