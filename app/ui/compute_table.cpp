// Every operation with the difference between processor and graphics card, and each one's time.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/ui/compute_view.h"
#include "app/ui/panel_frame.h"
#include "app/ui/panels.h"
#include "core/explain.h"
#include "core/steps.h"
#include "core/text/number_text.h"

namespace headlight {
namespace {

// Where the columns end, in shares of the width; those of numbers are written up to their ends.
struct Column {
  std::string_view text;
  float end;
  bool number;
};
constexpr std::array<Column, 7> kColumns = {{{"compute.column.step", 0.22f, false},
                                             {"compute.column.difference", 0.34f, true},
                                             {"compute.column.where", 0.64f, false},
                                             {"compute.column.error", 0.73f, true},
                                             {"compute.column.limit", 0.81f, true},
                                             {"compute.column.cpu", 0.90f, true},
                                             {"compute.column.gpu", 0.99f, true}}};

// Words behind a number keep away from it.
float begin_of(const Ui& ui, std::size_t column, const Rect& r) {
  if (column == 0) return r.x0 + ui.px(8);
  const Column& before = kColumns[column - 1];
  return r.x0 + before.end * r.width() + ui.px(before.number && !kColumns[column].number ? 24 : 8);
}

void cell(Ui& ui, std::size_t column, const Rect& row, Color color, const std::string& words) {
  const float pad = ui.px(8), y = row.y0 + ui.px(6);
  const float x0 = begin_of(ui, column, row), x1 = row.x0 + kColumns[column].end * row.width();
  if (kColumns[column].number) {
    ui.text_right(ui.fonts.mono_small, x1, y + ui.px(2), color, words);
  } else {
    ui.user_text(ui.fonts.control, {x0, y}, color, words, x1 - x0 - pad);
  }
}

std::string step_name(const Ui& ui, const Program& program, const CallDifference& d) {
  const auto& spec = program.tensors[static_cast<std::size_t>(d.tensor)];
  if (d.step < 0) return spec.name;
  const Step& step = program.steps[static_cast<std::size_t>(d.step)];
  std::string words(step_text(ui.language, program, step).title);
  if (step.layer >= 0) words += " · " + ui.tr("stage.layer", {{"n", std::to_string(step.layer)}});
  return words;
}

std::string milliseconds_text(double milliseconds) {
  return milliseconds < 0 ? "–" : number_text(milliseconds, 3);
}

void table_row(const AppState& state, Ui& ui, const CallDifference& d, std::size_t place,
               const Rect& row) {
  const Derived& derived = state.derived;
  const Program& program = derived.trace->program();
  const std::string& tensor = program.tensors[static_cast<std::size_t>(d.tensor)].name;
  bool over = false;
  if (ui.hot("compute/row/" + std::to_string(place), row, &over)) {
    ui.push(GoToStep{tensor});
    if (d.cells.place >= 0) ui.push(PickCell{{tensor, d.index}, true});
    ImGui::CloseCurrentPopup();
  }
  if (over) {
    ImGui::GetWindowDrawList()->AddRectFilled(row.min(), row.max(), to_u32(ui.theme.selection),
                                              ui.px(4));
    ui.tooltip(tensor);
  }
  const Color color = d.within() ? ui.theme.text : ui.theme.error;
  const std::string where =
      d.cells.place < 0 ? std::string(ui.tr("compute.equal")) : place_words(*derived.trace, d);
  cell(ui, 0, row, color, step_name(ui, program, d));
  cell(ui, 1, row, color, number_text(d.cells.largest, 3));
  cell(ui, 2, row, d.cells.place < 0 ? ui.theme.muted : color, where);
  cell(ui, 3, row, color, number_text(d.cells.error, 2));
  cell(ui, 4, row, ui.theme.muted, number_text(d.limit, 2));
  cell(ui, 5, row, ui.theme.text, milliseconds_text(derived.both->cpu.of(d)));
  cell(ui, 6, row, ui.theme.text, milliseconds_text(derived.both->gpu.of(d)));
}

// What it comes to, in a sentence; true words only: the first operation beyond its limit is named.
float summary(const AppState& state, Ui& ui, const Rect& r) {
  const BothRun& both = *state.derived.both;
  const Comparison& c = both.comparison;
  const Program& program = state.derived.trace->program();
  const std::initializer_list<Slot> times = {{"cpu", number_text(both.cpu_ms, 3)},
                                             {"gpu", number_text(both.gpu_ms, 3)}};
  std::string words;
  if (c.first_beyond) {
    const CallDifference& d = c.calls[*c.first_beyond];
    words = ui.tr("compute.first_beyond",
                  {{"step", step_name(ui, program, d)},
                   {"tensor", program.tensors[static_cast<std::size_t>(d.tensor)].name},
                   {"error", number_text(d.cells.error, 2)},
                   {"limit", number_text(d.limit, 2)}});
  } else {
    words = tr_count(ui.language, "compute.all_within", static_cast<long long>(c.calls.size()));
  }
  words += " " + ui.tr("compute.whole_run", times);
  return ui.wrapped(ui.fonts.body, r.min(), r.width(),
                    c.first_beyond ? ui.theme.error : ui.theme.text, words) +
         ui.px(8);
}

// Only what can be seen is drawn: a large model has thousands of results.
void rows(const AppState& state, Ui& ui, const Rect& r) {
  const auto& calls = state.derived.both->comparison.calls;
  ui.probe.add("compute_rows", r.min(), r.max());
  ImGui::SetCursorScreenPos(r.min());
  begin_child("compute_rows", {r.width(), r.height()}, ImGuiWindowFlags_NoBackground);
  const float line = ui.px(28), wide = r.width() - ui.px(14), scroll = ImGui::GetScrollY();
  const auto first = static_cast<std::size_t>(std::max(0.0f, std::floor(scroll / line)));
  const auto seen = static_cast<std::size_t>(std::ceil(r.height() / line)) + 1;
  for (std::size_t i = first; i < std::min(calls.size(), first + seen); ++i) {
    const float y = r.y0 + static_cast<float>(i) * line - scroll;
    table_row(state, ui, calls[i], i, {r.x0, y, r.x0 + wide, y + line - 1});
  }
  ImGui::SetCursorScreenPos({r.x0, r.y0 - scroll + static_cast<float>(calls.size()) * line});
  ImGui::Dummy({1, 1});
  ImGui::EndChild();
}

}  // namespace

void compute_table(const AppState& state, Ui& ui, const Rect& r) {
  const Derived& d = state.derived;
  const bool there = d.both && d.trace && d.both->serial == d.trace->serial();
  if (!there || !d.both->problem.empty()) {
    const bool waits = state.session.compute == ComputeMode::kBoth && d.computing;
    const std::string words = there   ? say(ui.language, d.both->problem)
                              : waits ? std::string(ui.tr("top.computing"))
                                      : std::string(ui.tr("compute.choose_both"));
    ui.wrapped(ui.fonts.body, {r.x0, r.y0 + ui.px(12)}, r.width(), ui.theme.text, words);
    return;
  }
  float y = r.y0 + summary(state, ui, r);
  const Rect head{r.x0, y, r.x1 - ui.px(14), y + ui.px(26)};
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    std::string_view words = ui.tr(kColumns[i].text);
    const float begin = begin_of(ui, i, head), end = head.x0 + kColumns[i].end * head.width();
    if (i == 1 && ui.measure(ui.fonts.note, words).x > end - begin)
      words = ui.tr("compute.column.difference_brief");
    const float wide = std::min(ui.measure(ui.fonts.note, words).x, end - begin);
    ui.user_text(ui.fonts.note, {kColumns[i].number ? end - wide : begin, head.y0 + ui.px(5)},
                 ui.theme.muted, words, wide + 1);
  }
  y = head.y1;
  ImGui::GetWindowDrawList()->AddLine({r.x0, y}, {r.x1, y}, to_u32(ui.theme.line));
  rows(state, ui, {r.x0, y + 1, r.x1, r.y1});
}

}  // namespace headlight
