#include "core/view/pane_layout.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headlight {
namespace {

// Heads of keys or values that the call knows of and that are shared; 0: none.
std::int64_t kv_heads_of(const OpArgs& args) {
  std::int64_t kv_heads = 0;
  const auto look = [&](const TensorView& t) {
    const int axis = t.find_dim("kv_head");
    if (axis >= 0) kv_heads = t.axes[static_cast<std::size_t>(axis)].size;
  };
  for (const TensorView& t : args.in) look(t);
  look(args.out);
  return kv_heads;
}

// Where each cell of the result needs a whole row of the operand, each gradient of the operand
// needs the whole row of the result's: going back they change places.
void turn_whole_rows(std::vector<PagePane>& line) {
  Follow& result = line.back().pane.column_follow;
  for (PagePane& p : line) {
    if (p.pane.column_follow == Follow::kWholeRow) std::swap(p.pane.column_follow, result);
  }
}

}  // namespace

StepPage step_page(const Trace& trace, const Step& step, std::int64_t head) {
  StepPage page;
  const Program& program = trace.program();
  const std::int64_t heads = program.config.head_count();
  // Where panes lie follows from sizes alone: of a large run cells may have to be computed again.
  if (step.calls.empty()) page.tokens = program.look(step.tensor).size();
  for (const int c : step.calls) {
    const OpCall& call = program.calls[static_cast<std::size_t>(c)];
    std::vector<TensorView> in;
    for (const TensorId id : call.in) in.push_back(program.look(id));
    const OpInfo& info = op_info(call.op);
    page.layout = info.layout;
    page.sign = info.sign;
    const OpArgs args{in, program.look(call.out), call.params, nullptr};
    page.backward = step.backward;
    if (info.arrow && !step.backward) page.arrow = info.arrow(args);
    std::vector<PagePane> line;
    // A call that is about heads of keys or values alone: the one that this head of queries reads.
    const std::int64_t kv_heads = kv_heads_of(args);
    const bool own = kv_heads == 0 || args.out.find_dim("head") >= 0;
    page.kv_heads = std::max(page.kv_heads, kv_heads);
    for (const Pane& pane : info.panes(args, own ? head : head * kv_heads / heads)) {
      TensorId id = pane.input < 0 ? call.out : call.in[static_cast<std::size_t>(pane.input)];
      // What no gradient reaches (ids, masks) stands there as it is.
      if (step.backward && program.gradient(id) >= 0) id = program.gradient(id);
      // What adds up passes its gradient on as it is.
      const bool adds = info.shares_gradient && step.backward == program.is_gradient(id);
      const bool amounts = pane.input < 0 || !info.is_fixed(place(pane.input));
      line.push_back({pane, id, adds ? c : -1, amounts});
    }
    if (step.backward) turn_whole_rows(line);
    page.lines.push_back(std::move(line));
  }
  return page;
}

bool is_made(const StepPage& page, const Program& program, const PagePane& p) {
  if (!page.backward) return p.pane.input < 0;
  return p.pane.input >= 0 && program.is_gradient(p.tensor);
}

Pane head_part(const Pane& p, std::int64_t i) {
  Pane part = p;
  if (p.head_stride == 0) return part;
  part.offset += i * p.head_stride;
  part.columns = p.head_columns;
  part.first_head += i;
  part.head_stride = 0;
  return part;
}

std::optional<std::pair<std::int64_t, std::int64_t>> pane_place(const Pane& p, std::int64_t flat) {
  std::int64_t rest = flat - p.offset, before = 0;
  if (rest < 0) return std::nullopt;
  if (p.head_stride > 0) {
    before = rest / p.head_stride * p.head_columns;
    rest %= p.head_stride;
  }
  const bool rows_first = p.row_stride >= p.column_stride;
  const std::int64_t major = rows_first ? p.row_stride : p.column_stride;
  const std::int64_t minor = rows_first ? p.column_stride : p.row_stride;
  const std::int64_t a = major > 0 ? rest / major : 0;
  const std::int64_t b = minor > 0 ? (rest - a * major) / minor : 0;
  const std::int64_t r = rows_first ? a : b, c = before + (rows_first ? b : a);
  if (r >= p.rows || c >= p.columns || pane_flat(p, r, c) != flat) return std::nullopt;
  return std::pair{r, c};
}

const std::vector<int>* ids_of(const Trace& trace, const Pane& pane) {
  if (!picks_rows(pane)) return nullptr;
  const RunInput& input = trace.input();
  return pane.row_follow == Follow::kSourceId    ? &input.source_ids
         : pane.row_follow == Follow::kSegmentId ? &input.segment_ids
                                                 : &input.ids;
}

std::optional<std::int64_t> same_row(const TensorView& from, std::span<const std::int64_t> index,
                                     const TensorView& to) {
  const Axis *own = find_row_axis(from.axes), *other = find_row_axis(to.axes);
  if (!own || !other || index.size() != from.axes.size()) return std::nullopt;
  if (own->name.starts_with("source") != other->name.starts_with("source")) return std::nullopt;
  return index[static_cast<std::size_t>(own - from.axes.data())];
}

CellLink link_from(const Trace& trace, const PagePane& p, std::int64_t r, std::int64_t c) {
  CellLink link;
  if (p.pane.row_follow == Follow::kRow) link.row = r + p.pane.row_shift;
  const bool leads =
      p.pane.column_follow == Follow::kColumn || p.pane.column_follow == Follow::kWholeRow;
  if (leads && c + p.pane.column_shift >= 0) {
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
  if (p.pane.row_follow == Follow::kRow && result.row) {
    link.row = *result.row - p.pane.row_shift;
    if (*link.row < 0) return {};  // a row that another pane brought
  }
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

// What the roles of weights have is made of weights, also where no row adds up to 1 any more.
bool shows_weights(const Program& program, TensorId id) {
  const bool weights = role_info(program.tensors[place(id)].role).color == 'p';
  return (weights && !program.is_gradient(id)) || is_distribution(program, id);
}

bool is_distribution(const Program& program, TensorId id) {
  const int producer = program.producer(id);
  return producer >= 0 && op_info(program.calls[place(producer)].op).is_distribution;
}

namespace {

void make_weights(CellRange& range, float limit) {
  range.limit = limit > 0 ? limit : 1;
  range.highest = std::min(range.highest, range.limit);  // a rounded sum may pass 1
}

// Targets name columns: none of them has a colour.
void make_names(const Program& program, TensorId id, CellRange& range) {
  range.names = program.tensors[place(id)].role == Role::kTargets;
  if (range.names) range.limit = std::numeric_limits<float>::max();
}

}  // namespace

CellRange shared_range(const Trace& trace, const PagePane& p) {
  const Program& program = trace.program();
  CellRange all = trace.range(p.tensor);
  if (shows_weights(program, p.tensor)) make_weights(all, 1);
  make_names(program, p.tensor, all);
  if (p.sum < 0) return all;
  const OpCall& call = program.calls[place(p.sum)];
  const bool backward = program.is_gradient(p.tensor);
  const auto add = [&](TensorId id) {
    if (backward) id = program.gradient(id);
    if (id >= 0 && id != p.tensor) all = join(all, trace.range(id));
  };
  for (const TensorId id : call.in) add(id);
  add(call.out);
  return all;
}

CellRange own_range(const Trace& trace, const PagePane& p) {
  std::optional<CellRange> all;
  for (std::int64_t i = 0; i < head_parts(p.pane); ++i) {
    const Pane part = head_part(p.pane, i);
    const CellRange& range = trace.matrix_range(p.tensor, part.offset, part.rows, part.columns,
                                                part.row_stride, part.column_stride);
    all = all ? join(*all, range) : range;
  }
  CellRange own = *all;
  if (shows_weights(trace.program(), p.tensor)) make_weights(own, own.highest);
  make_names(trace.program(), p.tensor, own);
  return own;
}

bool shows_one_head(const Trace& trace, const PagePane& p) {
  const TensorView t = trace.tensor(p.tensor);
  const bool by_head = std::ranges::any_of(
      t.axes, [](const Axis& axis) { return counts_heads(axis.name) && axis.size > 1; });
  return (by_head && head_parts(p.pane) == 1) ||
         (p.pane.head_columns > 0 && p.pane.columns == p.pane.head_columns &&
          t.axes.back().size > p.pane.columns);
}

void free_faint_panes(const Trace& trace, StepPage& page) {
  for (auto& line : page.lines) {
    for (PagePane& p : line) {
      if (!p.amounts || shows_weights(trace.program(), p.tensor) || !shows_one_head(trace, p))
        continue;
      const float own = own_range(trace, p).limit;
      p.alone = own > 0 && own < shared_range(trace, p).limit / 10;
    }
  }
}

namespace {

const PagePane& chosen_pane(const StepPage& page, const Program& program) {
  for (const PagePane& p : page.lines[0]) {
    if (page.backward && is_made(page, program, p)) return p;
  }
  return page.lines[0].back();
}

// Of what the page passes back first: the largest either way, in the row where it has that row and
// anything came back to it. Of columns of all heads those of the head that the result shows; of
// weights those that are not 0 (a forbidden key's), since nothing comes back through these.
std::vector<std::int64_t> default_gradient(const Trace& trace, const Step& step,
                                           const StepPage& page, std::optional<std::int64_t> row) {
  const Program& program = trace.program();
  const PagePane& made = chosen_pane(page, program);
  const Pane& pane = made.pane;
  const TensorView t = trace.tensor(made.tensor);
  const OpCall& call = program.calls[place(step.calls[0])];
  const TensorId value = pane.input < 0 ? call.out : call.in[place(pane.input)];
  const float* weights = shows_weights(program, value) ? trace.tensor(value).data : nullptr;
  std::int64_t begin = 0, past = pane.columns;
  const Pane& result = page.lines[0].back().pane;
  if (pane.columns > result.columns && result.head_columns == result.columns) {
    begin = -pane.column_shift;
    past = begin + result.columns;
  }
  const auto largest = [&](std::int64_t first, std::int64_t end) {
    std::int64_t best = pane_flat(pane, first, begin);
    float most = 0;
    for (std::int64_t r = first; r < end; ++r) {
      for (std::int64_t c = begin; c < past; ++c) {
        const std::int64_t flat = pane_flat(pane, r, c);
        if (!(std::fabs(t.data[flat]) > most) || (weights && weights[flat] == 0)) continue;
        best = flat;
        most = std::fabs(t.data[flat]);
      }
    }
    return std::pair{best, most};
  };
  if (row && pane.row_follow == Follow::kRow && *row < pane.rows && pane.row_shift == 0) {
    const auto [best, most] = largest(*row, *row + 1);
    if (most != 0) return unravel(t.axes, best);
  }
  return unravel(t.axes, largest(0, pane.rows).first);
}

}  // namespace

namespace {

// Of scores that a mask will act on: what becomes of them, −∞ where the key is forbidden; null for
// all else.
const float* after_mask(const Trace& trace, TensorId scores) {
  const Program& program = trace.program();
  const TensorId masked = program.find(Role::kMaskedScores, scores);
  if (masked < 0) return nullptr;
  const TensorSpec &spec = program.tensors[place(masked)], &own = program.tensors[place(scores)];
  const bool same = spec.place == own.place && cell_count(spec.axes) == cell_count(own.axes) &&
                    spec.axes.back().name == own.axes.back().name;
  return same ? trace.tensor(masked).data : nullptr;
}

}  // namespace

TensorId default_tensor(const Trace& trace, const Step& step, const StepPage& page) {
  return page.lines.empty() ? step.tensor : chosen_pane(page, trace.program()).tensor;
}

std::vector<std::int64_t> default_cell(const Trace& trace, const Step& step, std::int64_t head,
                                       std::optional<std::int64_t> row) {
  const StepPage page = step_page(trace, step, head);
  const TensorView t = trace.tensor(step.tensor);
  if (page.lines.empty()) return {0, std::min(row.value_or(0), t.axes.back().size - 1)};
  if (page.backward) return default_gradient(trace, step, page, row);
  const Pane& result = page.lines[0].back().pane;
  const std::int64_t r = std::min(row.value_or(result.rows - 1), result.rows - 1);
  const OpCall& call = trace.program().calls[place(step.calls[0])];
  // Of curves the first: the one that moves.
  if (op_info(call.op).detail == Detail::kColumns) return unravel(t.axes, pane_flat(result, r, 0));
  std::int64_t best = 0;
  // Scores and weights: the highest. Features: the largest either way.
  const std::string_view along = result.column_axis;
  const bool loudest = names_places(along);
  float best_size = -INFINITY;
  const float* allowed = loudest ? after_mask(trace, step.tensor) : nullptr;
  for (std::int64_t c = 0; c < result.columns; ++c) {
    const float value = t.data[pane_flat(result, r, c)];
    const float size = loudest ? value : std::fabs(value);
    if (allowed && allowed[pane_flat(result, r, c)] == -INFINITY) continue;
    if (std::isfinite(value) && size > best_size) {
      best = c;
      best_size = size;
    }
  }
  const TensorView shown = trace.tensor(page.lines[0].back().tensor);
  return unravel(shown.axes, pane_flat(result, r, best));
}

}  // namespace headlight
