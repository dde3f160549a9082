#include "core/page.h"

#include <algorithm>
#include <cmath>

namespace headlight {

StepPage step_page(const Trace& trace, const Step& step, std::int64_t head) {
  StepPage page;
  const Program& program = trace.program();
  for (const int c : step.calls) {
    const OpCall& call = program.calls[static_cast<std::size_t>(c)];
    std::vector<TensorView> in;
    for (const TensorId id : call.in) in.push_back(trace.tensor(id));
    const OpInfo& info = op_info(call.op);
    page.layout = info.layout;
    page.sign = info.sign;
    const OpArgs args{in, trace.tensor(call.out), call.params, nullptr};
    if (info.arrow) page.arrow = info.arrow(args);
    std::vector<PagePane> line;
    for (const Pane& pane : info.panes(args, head)) {
      const TensorId id = pane.input < 0 ? call.out : call.in[static_cast<std::size_t>(pane.input)];
      line.push_back({pane, id});
    }
    page.lines.push_back(std::move(line));
  }
  return page;
}

std::optional<std::pair<std::int64_t, std::int64_t>> pane_place(const Pane& p, std::int64_t flat) {
  const std::int64_t rest = flat - p.offset;
  if (rest < 0) return std::nullopt;
  const bool rows_first = p.row_stride >= p.column_stride;
  const std::int64_t major = rows_first ? p.row_stride : p.column_stride;
  const std::int64_t minor = rows_first ? p.column_stride : p.row_stride;
  const std::int64_t a = major > 0 ? rest / major : 0;
  const std::int64_t b = minor > 0 ? (rest - a * major) / minor : 0;
  const std::int64_t r = rows_first ? a : b, c = rows_first ? b : a;
  if (r >= p.rows || c >= p.columns || pane_flat(p, r, c) != flat) return std::nullopt;
  return std::pair{r, c};
}

std::string row_label(const Trace& trace, const Pane& pane, std::int64_t r) {
  return trace.tick(pane.row_axis, r);
}

std::string column_label(const Trace& trace, const Pane& pane, std::int64_t c) {
  return trace.tick(pane.column_axis, c);
}

namespace {

// The ids that pick rows of this pane; null where its rows are not picked.
const std::vector<int>* ids_of(const Trace& trace, const Pane& pane) {
  if (pane.row_follow == Follow::kSourceId) return &trace.input().source_ids;
  return pane.row_follow == Follow::kTokenId ? &trace.input().ids : nullptr;
}

}  // namespace

CellLink link_from(const Trace& trace, const PagePane& p, std::int64_t r, std::int64_t c) {
  CellLink link;
  if (p.pane.row_follow == Follow::kRow) link.row = r;
  if (p.pane.column_follow == Follow::kColumn && c + p.pane.column_shift >= 0) {
    link.column = c + p.pane.column_shift;
  }
  if (const std::vector<int>* ids = ids_of(trace, p.pane)) {
    for (std::size_t t = 0; t < ids->size() && !link.row; ++t) {
      if ((*ids)[t] == r) link.row = static_cast<std::int64_t>(t);
    }
  }
  return link;
}

CellLink link_to(const Trace& trace, const PagePane& p, const CellLink& result) {
  CellLink link;
  if (p.pane.row_follow == Follow::kRow) link.row = result.row;
  if (p.pane.column_follow == Follow::kColumn && result.column) {
    link.column = *result.column - p.pane.column_shift;
    // A cell of another head: nothing of this pane belongs to it.
    if (*link.column < 0 || *link.column >= p.pane.columns) return {};
  }
  const std::vector<int>* ids = ids_of(trace, p.pane);
  if (ids && result.row) {
    const auto place = static_cast<std::size_t>(*result.row);
    if (place < ids->size()) link.row = (*ids)[place];
  }
  if (link.row && *link.row >= p.pane.rows) link.row.reset();
  if (link.column && *link.column >= p.pane.columns) link.column.reset();
  return link;
}

bool shows_weights(const Program& program, TensorId id) {
  const int producer = program.producer(id);
  return producer >= 0 && program.calls[static_cast<std::size_t>(producer)].op == Op::kSoftmax;
}

std::vector<std::int64_t> default_cell(const Trace& trace, const Step& step, std::int64_t head,
                                       std::optional<std::int64_t> row) {
  const StepPage page = step_page(trace, step, head);
  const TensorView t = trace.tensor(step.tensor);
  if (page.lines.empty()) return {0, std::min(row.value_or(0), t.axes.back().size - 1)};
  const Pane& result = page.lines[0].back().pane;
  const std::int64_t r = std::min(row.value_or(result.rows - 1), result.rows - 1);
  std::int64_t best = 0;
  // Scores and weights: the key that answers loudest. Features: the largest either way.
  const std::string_view along = result.column_axis;
  const bool loudest =
      along == "key" || along == "source_key" || along == "vocab" || along == "class";
  float best_size = -INFINITY;
  for (std::int64_t c = 0; c < result.columns; ++c) {
    const float value = t.data[pane_flat(result, r, c)];
    const float size = loudest ? value : std::fabs(value);
    if (std::isfinite(value) && size > best_size) {
      best = c;
      best_size = size;
    }
  }
  const TensorView shown = trace.tensor(page.lines[0].back().tensor);
  return unravel(shown.axes, pane_flat(result, r, best));
}

}  // namespace headlight
