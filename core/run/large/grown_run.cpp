#include "core/run/large/grown_run.h"

#include <algorithm>
#include <vector>

namespace headlight {
namespace {

std::int64_t row_cells(const TensorSpec& spec) {
  std::int64_t cells = 1;
  for (std::size_t a = 2; a < spec.axes.size(); ++a) cells *= spec.axes[a].size;
  return cells;
}

// The same calls of the last rows alone: sizes of tensors, and where they lie.
struct LastRows {
  Program program;
  std::vector<float*> memory;

  LastRows(const Program& whole, std::span<float* const> cells, std::int64_t kept)
      : memory(cells.begin(), cells.end()) {
    program.config = whole.config;
    program.shape = whole.shape;
    program.shape.positions -= kept;
    program.tensors = whole.tensors;
    for (std::size_t id = 0; id < program.tensors.size(); ++id) {
      TensorSpec& spec = program.tensors[id];
      if (!has_rows(spec)) continue;
      memory[id] += kept * row_cells(spec);
      spec.axes[1].size -= kept;
    }
  }
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
  const LastRows last(program, memory, kept);
  const std::span<const OpCall> calls = program.calls;
  for (std::size_t begin = 0, end = 0; begin < calls.size(); begin = end) {
    const bool by_rows = goes_row_by_row(program, calls[begin]);
    for (end = begin; end < calls.size() && goes_row_by_row(program, calls[end]) == by_rows;
         ++end) {
      const TensorId out = calls[end].out;
      // Of what does not stay nobody reads the old rows.
      if (!by_rows || (stays && stays->stretch_of(out) >= 0)) continue;
      const auto held = before.hold(out);
      std::copy_n(before.tensor(out).data, kept * row_cells(program.tensors[place(out)]),
                  memory[place(out)]);
    }
    const std::span<const OpCall> stretch = calls.subspan(begin, end - begin);
    if (by_rows) {
      backend.run(last.program, stretch, last.memory);
    } else {
      backend.run(program, stretch, memory);
    }
  }
}

}  // namespace headlight
