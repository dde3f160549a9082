// Every operation with the difference between processor and graphics card, and each one's time.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "app/ui/compute/compute_view.h"
#include "app/ui/frame/panel_frame.h"
#include "app/ui/frame/panels.h"
#include "app/ui/kit/line_text.h"
#include "core/base/number_text.h"
#include "core/explain/explain.h"
#include "core/explain/steps.h"

namespace headlight {
namespace {

enum class Column { kStep, kDifference, kWhere, kError, kLimit, kCpu, kGpu };

// Where a column ends, in shares of the width; those of numbers are written up to their ends.
struct ColumnPlace {
  Column column;
  float end;
};
constexpr std::array<ColumnPlace, 7> kAll = {{{Column::kStep, 0.22f},
                                              {Column::kDifference, 0.34f},
                                              {Column::kWhere, 0.63f},
                                              {Column::kError, 0.73f},
                                              {Column::kLimit, 0.82f},
                                              {Column::kCpu, 0.905f},
                                              {Column::kGpu, 0.99f}}};
// In a narrow sheet; error and limit are in the tooltip of each row.
constexpr std::array<ColumnPlace, 5> kFew = {{{Column::kStep, 0.31f},
                                              {Column::kDifference, 0.46f},
                                              {Column::kWhere, 0.73f},
                                              {Column::kCpu, 0.86f},
                                              {Column::kGpu, 0.99f}}};

std::span<const ColumnPlace> columns_of(const Ui& ui, float width) {
  if (width < ui.px(720)) return kFew;
  return kAll;
}

bool is_number(Column c) { return c != Column::kStep && c != Column::kWhere; }

struct ColumnTexts {
  std::string_view name, help;
};
ColumnTexts texts_of(Column c) {
  switch (c) {
    case Column::kStep:
      return {"compute.column.step", "compute.column.step.help"};
    case Column::kDifference:
      return {"compute.column.difference", "compute.column.difference.help"};
    case Column::kWhere:
      return {"compute.column.where", "compute.column.where.help"};
    case Column::kError:
      return {"compute.column.error", "compute.column.error.help"};
    case Column::kLimit:
      return {"compute.column.limit", "compute.column.limit.help"};
    case Column::kCpu:
      return {"compute.column.cpu", "compute.column.cpu.help"};
    default:
      return {"compute.column.gpu", "compute.column.gpu.help"};
  }
}

// From where to where a column's words go; words behind a number keep away from it.
struct Span {
  float begin, end;
};
Span span_of(const Ui& ui, std::span<const ColumnPlace> columns, std::size_t i, const Rect& r) {
  const float end = r.x0 + columns[i].end * r.width();
  if (i == 0) return {r.x0 + ui.px(8), end};
  const bool after_number = is_number(columns[i - 1].column) && !is_number(columns[i].column);
  return {r.x0 + columns[i - 1].end * r.width() + ui.px(after_number ? 24 : 8), end};
}

std::string step_name(const Ui& ui, const Program& program, const CallDifference& d) {
  const auto& spec = program.tensors[static_cast<std::size_t>(d.tensor)];
  if (d.step < 0) return spec.name;
  const Step& step = program.steps[static_cast<std::size_t>(d.step)];
  std::string words(step_title(ui.language, step));
  if (step.layer >= 0) words += " · " + ui.tr("stage.layer", {{"n", std::to_string(step.layer)}});
  return words;
}

struct CellWords {
  std::string words;
  Color color;
};

CellWords cell_of(const AppState& state, const Ui& ui, const CallDifference& d, Column column) {
  const Derived& derived = state.derived;
  const Color color = d.within() ? ui.theme.text : ui.theme.error;
  switch (column) {
    case Column::kStep:
      return {step_name(ui, derived.trace->program(), d), color};
    case Column::kDifference:
      return {number_text(d.cells.largest, 3), color};
    case Column::kWhere:
      if (d.cells.place < 0) return {std::string(ui.tr("compute.equal")), ui.theme.muted};
      return {place_words(*derived.trace, d), color};
    case Column::kError:
      return {number_text(d.cells.error, 2), color};
    case Column::kLimit:
      return {number_text(d.limit, 2), ui.theme.muted};
    case Column::kCpu:
      return {time_words(derived.both->cpu.of(d)), ui.theme.text};
    default:
      return {time_words(derived.both->gpu.of(d)), ui.theme.text};
  }
}

void table_row(const AppState& state, Ui& ui, const CallDifference& d, std::size_t place,
               const Rect& row) {
  const Program& program = state.derived.trace->program();
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
    ui.tooltip(tensor + "\n" +
               ui.tr("compute.row.help", {{"error", number_text(d.cells.error, 2)},
                                          {"limit", number_text(d.limit, 2)}}));
  }
  const std::span<const ColumnPlace> columns = columns_of(ui, row.width());
  const float y = row.y0 + ui.px(6);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const CellWords cell = cell_of(state, ui, d, columns[i].column);
    const Span span = span_of(ui, columns, i, row);
    if (is_number(columns[i].column)) {
      ui.text_right(ui.fonts.mono, span.end, y, cell.color, cell.words);
    } else {
      ui.user_text(ui.fonts.control, {span.begin, y}, cell.color, cell.words,
                   span.end - span.begin - ui.px(8));
    }
  }
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
  words = two_sentences(words, ui.tr("compute.whole_run", times));
  return ui.wrapped(ui.fonts.body, r.min(), r.width(),
                    c.first_beyond ? ui.theme.error : ui.theme.text, words) +
         ui.px(8);
}

// Only what can be seen is drawn: a large model has thousands of results.
void rows(const AppState& state, Ui& ui, const Rect& r) {
  const auto& calls = state.derived.both->comparison.calls;
  ui.drawn.add("compute_rows", r.min(), r.max());
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

// The columns' names; each says in its tooltip what it means.
void table_head(Ui& ui, const Rect& head) {
  const std::span<const ColumnPlace> columns = columns_of(ui, head.width());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const ColumnTexts texts = texts_of(columns[i].column);
    const Span span = span_of(ui, columns, i, head);
    std::string_view words = ui.tr(texts.name);
    const float room = span.end - span.begin;
    if (columns[i].column == Column::kDifference && ui.measure(ui.fonts.note, words).x > room)
      words = ui.tr("compute.column.difference_brief");
    const float wide = std::min(ui.measure(ui.fonts.note, words).x, room);
    const float left = is_number(columns[i].column) ? span.end - wide : span.begin;
    const Rect at{left, head.y0, left + wide, head.y1};
    const bool over = ImGui::IsWindowHovered() && at.contains(ImGui::GetIO().MousePos);
    ui.user_text(ui.fonts.note, {left, head.y0 + ui.px(5)}, over ? ui.theme.text : ui.theme.muted,
                 words, wide + 1);
    ui.drawn.add("label/" + std::string(texts.name), at.min(), at.max());
    if (over) ui.tooltip(ui.tr(texts.help));
  }
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
  // In a very low window the rows themselves come first.
  const float y = r.y0 + (r.height() > ui.px(110) ? summary(state, ui, r) : 0);
  table_head(ui, {r.x0, y, r.x1 - ui.px(14), y + ui.px(26)});
  ImGui::GetWindowDrawList()->AddLine({r.x0, y + ui.px(26)}, {r.x1, y + ui.px(26)},
                                      to_u32(ui.theme.line));
  rows(state, ui, {r.x0, y + ui.px(26) + 1, r.x1, r.y1});
}

}  // namespace headlight
