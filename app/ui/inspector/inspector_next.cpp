// Where a number goes next, and the row of weights that it belongs to.
#include <algorithm>

#include "app/ui/inspector/inspector.h"
#include "app/ui/matrix/place_words.h"
#include "core/base/number_text.h"
#include "core/explain/steps.h"
#include "core/view/pane_layout.h"

namespace headlight {
namespace {

// A line that leads to another cell or step: name ........ number
bool link_line(InspectorColumn& c, const std::string& id, std::string_view name,
               const std::string& number) {
  Ui& ui = c.ui;
  bool over = false;
  const Rect line{c.x - ui.px(6), c.y - ui.px(2), c.right + ui.px(6), c.y + ui.px(20)};
  const bool pressed = ui.hot(id, line, &over);
  if (over) {
    ImGui::GetWindowDrawList()->AddRectFilled(line.min(), line.max(), to_u32(ui.theme.selection),
                                              ui.px(4));
  }
  inspector_fact(c, name, number);
  return pressed;
}

// Does the operation compute with the tensor's numbers? Of some inputs only the sizes count.
bool uses_numbers(const Program& program, const OpCall& call, TensorId id) {
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    const auto& kinds = op_info(call.op).inputs;
    const bool sizes = i < kinds.size() && kinds[i] == InputKind::kSizes;
    if (!sizes && program.resolve(call.in[i]) == id) return true;
  }
  return false;
}

// The cell's way through the operations that keep its place (OpInfo::keeps_place), then the steps
// that read the last of them.
void draw_where_it_goes(InspectorColumn& c, const CellRef& cell) {
  Ui& ui = c.ui;
  const Program& program = c.trace.program();
  TensorId id = program.resolve(cell.tensor);
  bool headed = false;
  int lines = 0;
  const auto head = [&] {
    if (!headed) inspector_section(c, ui.tr("inspector.next"));
    headed = true;
  };
  for (const OpCall& call : program.calls) {
    if (!op_info(call.op).keeps_place || program.resolve(call.in[0]) != id) continue;
    head();
    const TensorView t = c.trace.tensor(call.out);
    const auto index = unravel(t.axes, flat_index(c.trace.tensor(cell.tensor).axes, cell.index));
    const std::string said(op_info(call.op).words_of(call.params).id);
    const std::string words =
        ui.tr("inspector.next." + said, {{"d", std::to_string(program.config.head_width())},
                                         {"f", exact_number(call.params.factor)}});
    if (link_line(c, "inspector/next/" + std::to_string(lines++), words,
                  number_text(t.at(index)))) {
      ui.push(PickCell{{std::string(t.name), index}, true});
    }
    id = call.out;
  }
  // The steps that read it from there on.
  for (const Step& step : program.steps) {
    if (step.backward) break;
    const bool reads = std::any_of(step.calls.begin(), step.calls.end(), [&](int place) {
      return uses_numbers(program, program.calls[static_cast<std::size_t>(place)], id);
    });
    if (!reads) continue;
    head();
    const std::string title(step_title(ui.language, step));
    const std::string where =
        step_place(ui.language, step, &program.tensors[place(cell.tensor)].place);
    if (link_line(c, "inspector/next/" + std::to_string(lines++), title, where)) {
      ui.push(GoToStep{program.tensors[static_cast<std::size_t>(step.tensor)].name});
    }
  }
}

// The tensor of weights that the cell's row becomes, or is; -1 where there is none.
TensorId weights_of(const Program& program, TensorId id) {
  const Role role = program.tensors[static_cast<std::size_t>(id)].role;
  const bool scores = role == Role::kScores || role == Role::kScaledScores ||
                      role == Role::kCappedScores || role == Role::kMaskedScores ||
                      role == Role::kAddedScores;
  if (program.is_gradient(id)) return -1;
  if (scores) id = program.find(Role::kPattern, id);
  if (role == Role::kLogits) id = program.probabilities;
  return is_distribution(program, id) ? id : -1;
}

// A row of weights as bars, strongest first where there are too many.
void draw_row_bars(InspectorColumn& c, const CellRef& cell) {
  Ui& ui = c.ui;
  const TensorId id = weights_of(c.trace.program(), cell.tensor);
  if (id < 0) return;
  const TensorView t = c.trace.tensor(id);
  std::vector<std::int64_t> index = cell.index;
  const std::int64_t own = cell.index.back();
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
  const std::string asks = place_name(ui, c.trace, t.axes[query].name, index[query]);
  inspector_section(c, ui.tr("inspector.row", {{"token", asks}}), true);
  float largest = 1e-9f;
  for (const auto& [value, j] : row) largest = std::max(largest, value);
  const float label = std::min(ui.px(100), c.width() * 0.34f);
  const std::size_t shown = std::min<std::size_t>(row.size(), 14);
  double rest = 0;
  for (std::size_t i = shown; i < row.size(); ++i) rest += row[i].first;
  for (std::size_t i = 0; i < shown; ++i) {
    const auto [value, j] = row[i];
    const std::string token = token_label(c.trace.name(axis.name, j));
    ImFont* font = j == own ? ui.fonts.strong : ui.fonts.control;
    const float width = std::min(label, ui.measure(font, token).x);
    ui.user_text(font, {c.x + label - width, c.y}, j == own ? ui.theme.text : ui.theme.muted, token,
                 label);
    const float x = c.x + label + ui.px(10);
    const float end = ui.bar({x, c.y + ui.px(3), c.right - ui.px(60), c.y + ui.px(14)},
                             value / largest, ui.theme.pattern);
    ui.text(ui.fonts.mono_small, {end + ui.px(8), c.y + ui.px(1)}, ui.theme.muted,
            number_text(value, 3));
    c.y += ui.px(20);
  }
  if (shown < row.size()) {
    inspector_fact(c, ui.tr("inspector.more_together", {{"n", std::to_string(row.size() - shown)}}),
                   number_text(rest, 3));
  }
}

}  // namespace

void inspector_next(InspectorColumn& c, const CellRef& cell) {
  draw_where_it_goes(c, cell);
  draw_row_bars(c, cell);
}

}  // namespace headlight
