#include "core/program_memory.h"

#include <algorithm>
#include <limits>

namespace headlight {
namespace {

constexpr std::size_t kFloatsPerLine = kTensorAlignment / sizeof(float);

std::size_t padded(std::int64_t cells) {
  return (static_cast<std::size_t>(cells) + kFloatsPerLine - 1) / kFloatsPerLine * kFloatsPerLine;
}

bool in_arena(TensorKind kind) {
  return kind == TensorKind::kInput || kind == TensorKind::kActivation;
}

}  // namespace

std::size_t arena_cells(const Program& program) {
  std::size_t cells = 0;
  for (const TensorSpec& spec : program.tensors) {
    if (in_arena(spec.kind)) cells += padded(cell_count(spec.axes));
  }
  return cells;
}

void lay_out(const Program& program, float* arena, std::span<float*> memory) {
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    const TensorSpec& spec = program.tensors[id];
    if (!in_arena(spec.kind)) continue;
    memory[id] = arena;
    arena += padded(cell_count(spec.axes));
  }
}

void share_aliases(const Program& program, std::span<float*> memory) {
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    memory[id] = memory[static_cast<std::size_t>(program.resolve(static_cast<TensorId>(id)))];
  }
}

void fill_mask(const MaskSpec& mask, int tokens, float* out) {
  std::fill_n(out, static_cast<std::ptrdiff_t>(tokens) * tokens, 0.0f);
  for (int i = 0; i < tokens; ++i, out += tokens) {
    for (const Span& span : forbidden_keys(mask, i, tokens)) {
      std::fill(out + span.first, out + span.last + 1, -std::numeric_limits<float>::infinity());
    }
  }
}

}  // namespace headlight
