#include "core/view/row_detail.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headlight {
namespace {

std::vector<TensorView> inputs_of(const Trace& trace, const OpCall& call) {
  std::vector<TensorView> in;
  for (const TensorId id : call.in) in.push_back(trace.tensor(id));
  return in;
}

}  // namespace

Detail step_detail(const Trace& trace, const Step& step) {
  if (step.calls.empty()) return Detail::kNothing;
  const OpCall& call = trace.program().calls[static_cast<std::size_t>(step.calls[0])];
  return op_info(call.op).detail;
}

std::optional<RowDetail> open_row(const Trace& trace, const Step& step, std::int64_t head,
                                  std::int64_t row, std::int64_t column) {
  if (step.calls.empty()) return std::nullopt;
  const OpCall& call = trace.program().calls[static_cast<std::size_t>(step.calls[0])];
  const OpInfo& info = op_info(call.op);
  if (!info.open_row) return std::nullopt;
  const Pane pane = step_page(trace, step, head).lines[0].back().pane;
  const TensorView out = trace.tensor(call.out);
  RowDetail detail;
  detail.result = call.out;
  detail.axis = pane.column_axis;
  detail.row_axis = pane.row_axis;
  detail.position = std::clamp<std::int64_t>(row, 0, pane.rows - 1);
  detail.chosen = std::clamp<std::int64_t>(column, 0, pane.columns - 1);
  detail.index = unravel(out.axes, pane_flat(pane, detail.position, detail.chosen));
  const std::vector<TensorView> in = inputs_of(trace, call);
  detail.row = info.open_row({in, out, call.params, nullptr}, detail.index);
  for (const RowLine& line : detail.row.lines)
    detail.tensors.push_back(line.input < 0 ? -1 : call.in[static_cast<std::size_t>(line.input)]);
  detail.tensors.front() = call.in[0];
  detail.tensors.back() = call.out;
  return detail;
}

std::vector<double> open_column(const Trace& trace, const Step& step, std::int64_t column,
                                std::int64_t rows, std::int64_t parts) {
  const OpCall& call = trace.program().calls[place(step.calls[0])];
  std::vector<double> values;
  for (std::int64_t i = 0; i <= (rows - 1) * parts; ++i) {
    const double t = static_cast<double>(i) / static_cast<double>(parts);
    values.push_back(op_info(call.op).column(t, column, call.params));
  }
  return values;
}

std::optional<OpRow> row_of(const Trace& trace, TensorId id,
                            const std::vector<std::int64_t>& index) {
  const int made_by = trace.program().producer(id);
  if (made_by < 0) return std::nullopt;
  const OpCall& call = trace.program().calls[place(made_by)];
  const OpInfo& info = op_info(call.op);
  if (info.detail != Detail::kRow || !info.open_row) return std::nullopt;
  const std::vector<TensorView> in = inputs_of(trace, call);
  return info.open_row({in, trace.tensor(call.out), call.params, nullptr}, index);
}

std::vector<TurnedPair> open_pairs(const Trace& trace, const Step& step, const StepPage& page,
                                   std::int64_t row) {
  std::vector<TurnedPair> turned;
  const OpCall& call = trace.program().calls[static_cast<std::size_t>(step.calls[0])];
  const OpInfo& info = op_info(call.op);
  if (!info.pairs) return turned;
  const Pane &from = page.lines[0].front().pane, &to = page.lines[0].back().pane;
  const std::vector<TensorView> in = inputs_of(trace, call);
  const TensorView out = trace.tensor(call.out);
  const OpArgs args{in, out, call.params, nullptr};
  for (const OpPair& pair : info.pairs(args, unravel(out.axes, pane_flat(to, row, 0)))) {
    const auto arrow = [&](const TensorView& t, const Pane& pane) {
      return std::array<double, 2>{t.data[pane_flat(pane, row, pair.first)],
                                   t.data[pane_flat(pane, row, pair.second)]};
    };
    turned.push_back({pair, arrow(in[0], from), arrow(out, to)});
  }
  return turned;
}

namespace {

// NaN before every number, so that it is not missed; then the larger first, the earlier on a tie.
bool before(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  return a > b;
}

}  // namespace

Ranking rank_row(const TensorView& t, const Pane& pane, std::int64_t row, std::size_t count) {
  const auto value = [&](std::int64_t c) { return t.data[pane_flat(pane, row, c)]; };
  Ranking ranking;
  std::vector<std::int64_t>& order = ranking.columns;
  order.resize(static_cast<std::size_t>(pane.columns));
  std::iota(order.begin(), order.end(), 0);
  const std::size_t kept = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                    [&](std::int64_t a, std::int64_t b) {
                      if (before(value(a), value(b))) return true;
                      return !before(value(b), value(a)) && a < b;
                    });
  ranking.rest = static_cast<std::int64_t>(order.size() - kept);
  ranking.rest_largest = -INFINITY;
  for (std::size_t i = kept; i < order.size(); ++i) {
    ranking.rest_sum += value(order[i]);
    ranking.rest_largest = std::max(ranking.rest_largest, value(order[i]));
  }
  order.resize(kept);
  return ranking;
}

std::vector<std::int64_t> shown_columns(const std::vector<double>& values, std::int64_t chosen,
                                        std::size_t count, bool largest) {
  const auto size = static_cast<std::int64_t>(values.size());
  const auto room = std::min(static_cast<std::int64_t>(count), size);
  std::vector<std::int64_t> columns(static_cast<std::size_t>(size));
  std::iota(columns.begin(), columns.end(), 0);
  if (room == size) return columns;
  if (!largest) {
    // Pages: looking at another cell of the same page moves nothing. The last one is full, too.
    const std::int64_t first = room > 0 ? std::min(chosen / room * room, size - room) : 0;
    return {columns.begin() + first, columns.begin() + first + room};
  }
  const auto value = [&](std::int64_t c) {
    return static_cast<float>(values[static_cast<std::size_t>(c)]);
  };
  std::stable_partition(columns.begin(), columns.end(), [&](auto c) { return c == chosen; });
  if (room < 1) return {};
  std::partial_sort(columns.begin() + 1, columns.begin() + room, columns.end(),
                    [&](std::int64_t a, std::int64_t b) {
                      if (before(value(a), value(b))) return true;
                      return !before(value(b), value(a)) && a < b;
                    });
  columns.resize(static_cast<std::size_t>(room));
  std::sort(columns.begin(), columns.end());
  return columns;
}

}  // namespace headlight
