#include "core/run/large/grown_run.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace headlight {
namespace {

// How a tensor's rows lie: those of each head behind each other.
struct Rows {
  std::int64_t heads = 1, count = 0, cells = 1;  // cells of a row

  explicit Rows(const TensorSpec& spec) {
    const std::size_t axis = row_axis(spec);
    if (axis == 2) heads = spec.axes[1].size;
    count = spec.axes[axis].size;
    for (std::size_t a = axis + 1; a < spec.axes.size(); ++a) cells *= spec.axes[a].size;
  }
};

// An old row of a pattern that is NaN is NaN everywhere.
void widen(const float* old, std::int64_t old_cells, float* row, std::int64_t cells) {
  const std::int64_t both = std::min(old_cells, cells);
  std::copy_n(old, both, row);
  std::fill_n(row + both, cells - both, std::isnan(old[both - 1]) ? old[both - 1] : 0.0f);
}

void copy_first_rows(const TensorSpec& before, const float* from, const TensorSpec& now, float* to,
                     std::int64_t kept) {
  const Rows old(before), rows(now);
  for (std::int64_t h = 0; h < rows.heads; ++h) {
    const float* old_head = from + h * old.count * old.cells;
    float* head = to + h * rows.count * rows.cells;
    if (old.cells == rows.cells) {
      std::copy_n(old_head, kept * rows.cells, head);
      continue;
    }
    for (std::int64_t r = 0; r < kept; ++r)
      widen(old_head + r * old.cells, old.cells, head + r * rows.cells, rows.cells);
  }
}

// The last rows of heads lie apart: for calls they are laid side by side.
class GrownRun {
 public:
  GrownRun(const Program& program, std::span<float* const> memory, std::int64_t kept,
           const RowsBehind& behind)
      : program_(program),
        memory_(memory),
        kept_(kept),
        behind_(behind),
        read_(program.tensors.size(), Read::kNot),
        apart_(program.tensors.size()),
        last_read_(program.tensors.size(), 0),
        side_(program.tensors.size(), nullptr),
        at_(memory.begin(), memory.end()) {
    last_.config = program.config;
    last_.shape = program.shape;
    last_.shape.positions -= kept;
    last_.tensors = program.tensors;
    for (std::size_t c = 0; c < program.calls.size(); ++c) {
      for (const TensorId in : program.calls[c].in) last_read_[source(in)] = c;
    }
  }

  void run(Backend& backend) {
    const std::span<const OpCall> calls = program_.calls;
    for (std::size_t begin = 0, end = 0; begin < calls.size(); begin = end) {
      const Makes makes = behind_.calls[begin];
      std::ranges::fill(read_, Read::kNot);
      for (end = begin; end < calls.size() && behind_.calls[end] == makes; ++end) {
        if (makes == Makes::kLast && !joins(calls[end])) break;
      }
      const std::span<const OpCall> some = calls.subspan(begin, end - begin);
      if (makes == Makes::kAll) {
        backend.run(program_, some, memory_);
        for (const OpCall& call : some) side_[source(call.out)] = nullptr;
      } else if (makes == Makes::kLast) {
        for (const OpCall& call : some) place_rows(call);
        backend.run(last_, some, at_);
        for (const OpCall& call : some) put_back(call.out);
        let_go(end);
      }
    }
  }

 private:
  using Makes = RowsBehind::Makes;
  enum class Read { kNot, kRows, kAll };

  std::size_t source(TensorId id) const { return place(program_.resolve(id)); }
  bool keeps(TensorId id) const { return behind_.keeps[place(id)]; }
  bool is_parameter(TensorId id) const {
    return program_.tensors[place(id)].kind == TensorKind::kParameter;
  }

  // Can the call be run together with those before it? A tensor has one shape for all of them, and
  // what one of them makes of the last rows is not whole yet.
  bool joins(const OpCall& call) {
    const auto fits = [&](TensorId id, Read read) {
      const Read now = read_[source(id)];
      return is_parameter(id) || now == Read::kNot || now == read;
    };
    const auto& all = op_info(call.op).reads_all_rows;
    const auto read_of = [&](std::size_t i) { return all[i] ? Read::kAll : Read::kRows; };
    for (std::size_t i = 0; i < call.in.size(); ++i) {
      if (!fits(call.in[i], read_of(i))) return false;
    }
    for (std::size_t i = 0; i < call.in.size(); ++i) read_[source(call.in[i])] = read_of(i);
    read_[source(call.out)] = Read::kRows;
    return true;
  }

  // Says where the call finds its rows, and how many of them.
  void place_rows(const OpCall& call) {
    const auto& all = op_info(call.op).reads_all_rows;
    for (std::size_t i = 0; i < call.in.size(); ++i) {
      const TensorId id = call.in[i];
      if (is_parameter(id)) continue;
      if (all[i]) {
        last_.tensors[place(id)].axes = program_.tensors[place(id)].axes;
        at_[place(id)] = memory_[place(id)];
      } else {
        place_last_rows(id, true);
      }
    }
    place_last_rows(call.out, false);
  }

  void place_last_rows(TensorId id, bool is_read) {
    const TensorSpec& spec = program_.tensors[place(id)];
    const Rows rows(spec);
    const std::size_t from = source(id);
    last_.tensors[place(id)].axes[row_axis(spec)].size = rows.count - kept_;
    if (!is_read) {
      // Of what does not stay nobody reads the old rows: there is room in its own memory.
      side_[from] = !keeps(id) ? memory_[place(id)] : rows.heads > 1 ? apart(from, rows) : nullptr;
    } else if (!side_[from] && rows.heads > 1) {
      side_[from] = apart(from, rows);
      copy_last_rows(rows, memory_[place(id)], side_[from], false);
    }
    at_[place(id)] = side_[from] ? side_[from] : memory_[place(id)] + kept_ * rows.cells;
  }

  float* apart(std::size_t from, const Rows& rows) {
    const auto cells = static_cast<std::size_t>(rows.heads * (rows.count - kept_) * rows.cells);
    if (apart_[from].size() != cells) apart_[from].resize(cells);
    return apart_[from].data();
  }

  // What no call from `next` on reads: else those of all layers would lie there in the end.
  void let_go(std::size_t next) {
    for (std::size_t from = 0; from < apart_.size(); ++from) {
      if (!apart_[from].empty() && last_read_[from] < next) apart_[from] = FloatBuffer();
    }
  }

  // Between the rows in their places and those side by side.
  void copy_last_rows(const Rows& rows, float* whole, float* side, bool back) const {
    const std::int64_t cells = (rows.count - kept_) * rows.cells;
    for (std::int64_t h = 0; h < rows.heads; ++h) {
      float* own = whole + (h * rows.count + kept_) * rows.cells;
      std::copy_n(back ? side + h * cells : own, cells, back ? own : side + h * cells);
    }
  }

  // Behind the rows that were there, head by head.
  void put_back(TensorId id) const {
    const Rows rows(program_.tensors[place(id)]);
    if (keeps(id) && rows.heads > 1) copy_last_rows(rows, memory_[place(id)], at_[place(id)], true);
  }

  const Program& program_;
  std::span<float* const> memory_;
  std::int64_t kept_;
  const RowsBehind& behind_;
  std::vector<Read> read_;              // by source: by the calls that are run together
  std::vector<FloatBuffer> apart_;      // by source: last rows side by side
  std::vector<std::size_t> last_read_;  // by source: by which call
  std::vector<float*> side_;            // by source: where they lie; null: behind the others
  Program last_;                        // the same calls of the last rows alone
  std::vector<float*> at_;              // where its tensors lie
};

}  // namespace

bool looks_back_only(const MaskSpec& mask, int tokens) {
  for (int i = 0; i + 1 < tokens; ++i) {
    const std::vector<Span> forbidden = forbidden_keys(mask, i, tokens);
    if (forbidden.empty() || forbidden.back().first > i + 1 || forbidden.back().last != tokens - 1)
      return false;
  }
  return true;
}

bool looks_back_only(const Program& program) {
  const Config& c = program.config;
  return c.attends() && c.memory == 0 && !c.segments && !c.numbers && !c.token_head &&
         program.gradients.empty() && program.loss < 0 &&
         looks_back_only(c.mask, static_cast<int>(program.shape.positions));
}

double row_work(const Program& program) {
  double flops = 0;
  for (const OpCall& call : program.calls) {
    if (goes_row_by_row(program, call)) flops += call_flops(program, call);
  }
  return flops;
}

RowsBehind::RowsBehind(const Program& program, const KeptTensors* stays)
    : keeps(program.tensors.size(), true) {
  const std::vector<bool> by_rows =
      stays ? stays->by_rows() : calls_by_rows(program, [](TensorId) { return true; });
  for (const bool last : by_rows) calls.push_back(last ? Makes::kLast : Makes::kAll);
  for (std::size_t id = 0; stays && id < keeps.size(); ++id)
    keeps[id] = stays->stretch_of(static_cast<TensorId>(id)) < 0;
}

RowsBehind RowsBehind::of_rows_read_whole(const Program& program) {
  RowsBehind behind;
  behind.calls.assign(program.calls.size(), Makes::kAll);
  behind.keeps.assign(program.tensors.size(), true);
  if (!looks_back_only(program)) return behind;
  const std::vector<bool> by_rows = calls_by_rows(program, [](TensorId) { return false; });
  const std::vector<bool> whole = rows_read_whole(program, by_rows);
  for (std::size_t c = 0; c < by_rows.size(); ++c)
    if (by_rows[c]) behind.calls[c] = Makes::kLast;
  for (std::size_t id = 0; id < whole.size(); ++id)
    behind.keeps[id] = whole[place(program.resolve(static_cast<TensorId>(id)))];
  return behind;
}

void take_first_rows(const Program& before, const std::function<const float*(TensorId)>& from,
                     std::int64_t kept, const Program& program, std::span<float* const> memory,
                     const RowsBehind& behind) {
  for (std::size_t c = 0; c < program.calls.size(); ++c) {
    const TensorId id = program.calls[c].out;
    if (behind.calls[c] != RowsBehind::Makes::kLast || !behind.keeps[place(id)]) continue;
    const float* old = from(id);
    if (old == memory[place(id)]) continue;  // they are there (GrowingRows)
    copy_first_rows(before.tensors[place(id)], old, program.tensors[place(id)], memory[place(id)],
                    kept);
  }
}

void run_grown(const Program& program, std::span<float* const> memory, std::int64_t kept,
               Backend& backend, const RowsBehind& behind) {
  GrownRun(program, memory, kept, behind).run(backend);
}

void run_grown(const Program& program, std::span<float* const> memory, const Trace& before,
               std::int64_t kept, Backend& backend, const KeptTensors* stays) {
  const RowsBehind behind(program, stays);
  std::shared_ptr<const void> held;
  const auto from = [&](TensorId id) {
    held = before.hold(id);
    return before.tensor(id).data;
  };
  take_first_rows(before.program(), from, kept, program, memory, behind);
  run_grown(program, memory, kept, backend, behind);
}

}  // namespace headlight
