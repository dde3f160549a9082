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

// The last rows of heads lie apart: for calls they are laid side by side.
class GrownRun {
 public:
  GrownRun(const Program& program, std::span<float* const> memory, const Trace& before,
           std::int64_t kept, const KeptTensors* stays)
      : program_(program),
        memory_(memory),
        before_(before),
        kept_(kept),
        stays_(stays),
        by_rows_(stays ? stays->by_rows() : calls_by_rows(program, [](TensorId) { return true; })),
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
      const bool by_rows = by_rows_[begin];
      std::ranges::fill(read_, Read::kNot);
      for (end = begin; end < calls.size() && by_rows_[end] == by_rows; ++end) {
        if (by_rows && !joins(calls[end])) break;
      }
      const std::span<const OpCall> some = calls.subspan(begin, end - begin);
      if (!by_rows) {
        backend.run(program_, some, memory_);
        for (const OpCall& call : some) side_[source(call.out)] = nullptr;
        continue;
      }
      for (const OpCall& call : some) place_rows(call);
      backend.run(last_, some, at_);
      for (const OpCall& call : some) keep(call.out);
      let_go(end);
    }
  }

 private:
  enum class Read { kNot, kRows, kAll };

  std::size_t source(TensorId id) const { return place(program_.resolve(id)); }
  bool stays(TensorId id) const { return !stays_ || stays_->stretch_of(id) < 0; }
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
    if (rows.heads == 1) {
      at_[place(id)] = memory_[place(id)] + kept_ * rows.cells;
      return;
    }
    if (!is_read) {
      // Of what does not stay nobody reads the old rows: there is room in its own memory.
      side_[from] = stays(id) ? apart(from, rows) : memory_[place(id)];
    } else if (!side_[from]) {
      side_[from] = apart(from, rows);
      copy_last_rows(rows, memory_[place(id)], side_[from], false);
    }
    at_[place(id)] = side_[from];
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

  // Behind the rows of the run before, of what stays.
  void keep(TensorId id) const {
    if (!stays(id)) return;
    const Rows rows(program_.tensors[place(id)]);
    float* whole = memory_[place(id)];
    if (rows.heads > 1) copy_last_rows(rows, whole, at_[place(id)], true);
    const auto held = before_.hold(id);
    const Rows old(before_.program().tensors[place(id)]);
    const float* from = before_.tensor(id).data;
    if (from == whole) return;  // they are there (GrowingRows)
    if (old.cells == rows.cells) {
      for (std::int64_t h = 0; h < rows.heads; ++h) {
        std::copy_n(from + h * old.count * old.cells, kept_ * old.cells,
                    whole + h * rows.count * rows.cells);
      }
      return;
    }
    for (std::int64_t h = 0; h < rows.heads; ++h) {
      for (std::int64_t r = 0; r < kept_; ++r)
        widen(from + (h * old.count + r) * old.cells, old.cells,
              whole + (h * rows.count + r) * rows.cells, rows.cells);
    }
  }

  // An old row of a pattern looks at no new token, and at no token that is gone. One that is NaN is
  // NaN everywhere.
  static void widen(const float* old, std::int64_t old_cells, float* row, std::int64_t cells) {
    const std::int64_t both = std::min(old_cells, cells);
    std::copy_n(old, both, row);
    std::fill_n(row + both, cells - both, std::isnan(old[both - 1]) ? old[both - 1] : 0.0f);
  }

  const Program& program_;
  std::span<float* const> memory_;
  const Trace& before_;
  std::int64_t kept_;
  const KeptTensors* stays_;
  std::vector<bool> by_rows_;
  std::vector<Read> read_;              // by source: by the calls that are run together
  std::vector<FloatBuffer> apart_;      // by source: last rows side by side
  std::vector<std::size_t> last_read_;  // by source: by which call
  std::vector<float*> side_;            // by source: where they are; null: in their places alone
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
  return c.form == ModelForm::kTokens && c.attends() && c.memory == 0 && !c.segments &&
         !c.numbers && !c.token_head && program.gradients.empty() && program.loss < 0 &&
         looks_back_only(c.mask, static_cast<int>(program.shape.positions));
}

double row_work(const Program& program) {
  double flops = 0;
  for (const OpCall& call : program.calls) {
    if (goes_row_by_row(program, call)) flops += call_flops(program, call);
  }
  return flops;
}

void run_grown(const Program& program, std::span<float* const> memory, const Trace& before,
               std::int64_t kept, Backend& backend, const KeptTensors* stays) {
  GrownRun(program, memory, before, kept, stays).run(backend);
}

}  // namespace headlight
