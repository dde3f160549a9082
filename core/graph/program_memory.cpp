#include "core/graph/program_memory.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"

namespace headlight {
namespace {

constexpr std::size_t kFloatsPerLine = kTensorAlignment / sizeof(float);

bool in_arena(TensorKind kind) {
  return kind == TensorKind::kInput || kind == TensorKind::kActivation;
}

}  // namespace

std::size_t padded_cells(std::int64_t cells) {
  return (static_cast<std::size_t>(cells) + kFloatsPerLine - 1) / kFloatsPerLine * kFloatsPerLine;
}

std::size_t arena_cells(const Program& program) {
  std::size_t cells = 0;
  for (const TensorSpec& spec : program.tensors) {
    if (in_arena(spec.kind)) cells += padded_cells(cell_count(spec.axes));
  }
  return cells;
}

void lay_out(const Program& program, float* arena, std::span<float*> memory) {
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    const TensorSpec& spec = program.tensors[id];
    if (!in_arena(spec.kind)) continue;
    memory[id] = arena;
    arena += padded_cells(cell_count(spec.axes));
  }
}

void share_aliases(const Program& program, std::span<float*> memory) {
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    memory[id] = memory[static_cast<std::size_t>(program.resolve(static_cast<TensorId>(id)))];
  }
}

namespace {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();

// (head, query, key): of a mask for more tokens the first rows and columns.
void fill_added(const Program& program, std::int64_t tokens, float* out) {
  const MaskSpec& mask = program.config.mask;
  const std::vector<Axis>& axes = program.tensors[place(program.added_mask)].axes;
  const std::int64_t heads = axes[1].size, keys = axes[3].size;
  const std::int64_t before = program.shape.memory;
  std::fill_n(out, heads * tokens * keys, 0.0f);
  for (int h = 0; h < heads; ++h) {
    const auto own = mask.by_head.find(h);
    for (int i = 0; i < tokens; ++i, out += keys) {
      if (!mask.added.empty()) std::copy_n(mask.added.row(h, i), tokens, out + before);
      if (own == mask.by_head.end()) continue;
      for (const Span& span : own->second.row(i)) {
        const std::int64_t end = std::min<std::int64_t>(span.last + 1, tokens);
        if (span.first < end) std::fill(out + before + span.first, out + before + end, kForbidden);
      }
    }
  }
}

void fill_head_mask(const Program& program, TensorId id, float* out) {
  const TensorSpec& spec = program.tensors[place(id)];
  const HeadsOf of = heads_of(spec.place.stack, spec.place.section);
  std::fill_n(out, spec.axes[0].size, 1.0f);
  for (const MaskedHead& h : program.config.masked_heads) {
    if (h.of == of && h.layer == spec.place.layer) out[h.head] = 0;
  }
}

}  // namespace

void fill_mask(const MaskSpec& mask, int tokens, float* out, int memory, int behind) {
  const std::int64_t keys = std::int64_t{memory} + tokens + behind;
  std::fill_n(out, tokens * keys, 0.0f);
  for (int i = 0; i < tokens; ++i, out += keys) {
    for (int j = 0; j < memory; ++j) {
      if (!mask.allows(i, j - memory)) out[j] = kForbidden;
    }
    for (const Span& span : forbidden_keys(mask, i, tokens))
      std::fill(out + memory + span.first, out + memory + span.last + 1, kForbidden);
  }
}

void fill_masks(const Program& program, std::span<float* const> memory) {
  const std::int64_t tokens = program.shape.positions;
  const auto repeat = [&](TensorId id) {
    const std::int64_t cells = cell_count(program.look(id).axes) / program.shape.batch;
    float* first = memory[place(id)];
    for (std::int64_t r = 1; r < program.shape.batch; ++r)
      std::copy_n(first, cells, first + r * cells);
  };
  const auto fill_own = [&](TensorId id, const MaskSpec& mask) {
    if (id < 0) return;
    fill_mask(mask, static_cast<int>(tokens), memory[place(id)],
              static_cast<int>(program.shape.memory), program.config.extra_keys());
    repeat(id);
  };
  fill_own(program.mask, program.config.mask);
  fill_own(program.local_mask, program.local_spec());
  if (program.added_mask >= 0) {
    check_added_mask(program.config, tokens);
    fill_added(program, tokens, memory[place(program.added_mask)]);
    repeat(program.added_mask);
  }
  for (const TensorId id : program.head_masks) fill_head_mask(program, id, memory[place(id)]);
}

void check_added_mask(const Config& config, std::int64_t tokens) {
  const int known = config.mask.added.tokens;
  if (known == 0 || tokens <= known || !config.attends()) return;
  throw UsageError(Message{"error.added_mask_tokens",
                           {{"size", std::to_string(known)}, {"tokens", std::to_string(tokens)}}});
}

namespace {

// (1, query, source_key): no query looks at a source token that is padding.
void fill_source_mask(const Program& program, TensorId id, std::span<float* const> memory) {
  if (id < 0) return;
  const std::vector<Axis>& axes = program.tensors[static_cast<std::size_t>(id)].axes;
  const std::int64_t keys = axes[2].size;
  float* row = memory[static_cast<std::size_t>(id)];
  for (std::int64_t query = 0; query < axes[1].size; ++query, row += keys) {
    std::fill_n(row, keys, 0.0f);
    for (const int key : program.config.mask.source_padding) {
      if (key < keys) row[key] = kForbidden;
    }
  }
}

}  // namespace

std::vector<int> segments_of(std::span<const int> ids, int separator) {
  std::vector<int> segments;
  int segment = 0;
  for (const int id : ids) {
    segments.push_back(segment);
    if (id == separator) segment = kSegments - 1;
  }
  return segments;
}

void fill_segments(const Program& program, std::span<float* const> memory) {
  if (program.segment_ids < 0) return;
  const float* ids = memory[place(program.token_ids)];
  float* segments = memory[place(program.segment_ids)];
  const std::int64_t tokens = program.shape.positions;
  for (std::int64_t r = 0; r < program.shape.batch; ++r, ids += tokens, segments += tokens) {
    const std::vector<int> row(ids, ids + tokens);
    std::ranges::copy(segments_of(row, program.shape.separator), segments);
  }
}

bool begins_with_class(const Config& config) {
  return config.form == ModelForm::kClasses && config.pool == PoolKind::kFirst;
}

void fill_pooling(const Program& program, std::int64_t row, std::int64_t tokens,
                  const std::function<bool(std::int64_t)>& counts, std::span<float* const> memory) {
  if (program.present >= 0) {
    float* present = memory[place(program.present)] + row * tokens;
    for (std::int64_t t = 0; t < tokens; ++t) present[t] = counts(t) ? 1.0f : 0.0f;
  }
  if (program.picked >= 0) {
    float* picked = memory[place(program.picked)] + row * tokens;
    std::fill_n(picked, tokens, 0.0f);
    const bool first = program.config.pool == PoolKind::kFirst;
    for (std::int64_t i = 0; i < tokens; ++i) {
      const std::int64_t t = first ? i : tokens - 1 - i;
      if (!counts(t)) continue;
      picked[t] = 1.0f;
      break;
    }
  }
  if (program.pool_mask < 0) return;
  const std::int64_t foci = program.look(program.pool_mask).axes[1].size;
  float* mask = memory[place(program.pool_mask)] + row * foci * tokens;
  for (std::int64_t i = 0; i < foci * tokens; ++i) mask[i] = counts(i % tokens) ? 0.0f : kForbidden;
}

void fill_chosen(const Program& program, double share, std::span<float* const> memory) {
  const std::int64_t tokens = program.shape.positions, rows = program.shape.batch;
  const float* targets = memory[place(program.token_targets)];
  const float* classes = memory[place(program.targets)];
  float* chosen = memory[place(program.chosen)];
  for (std::int64_t i = 0; i < rows * tokens; ++i) {
    const bool asked = targets[i] >= 0 && classes[i / tokens] >= 0;
    chosen[i] = asked ? static_cast<float>(share) : 0.0f;
  }
}

void fill_source_present(const Program& program, std::int64_t row, std::int64_t tokens,
                         const std::function<bool(std::int64_t)>& counts,
                         std::span<float* const> memory) {
  for (std::size_t id = 0; id < program.tensors.size(); ++id) {
    const TensorSpec& spec = program.tensors[id];
    if (spec.role != Role::kPresent || spec.kind != TensorKind::kInput ||
        spec.place.stack != Stack::kEncoder)
      continue;
    for (std::int64_t t = 0; t < tokens; ++t)
      memory[id][row * tokens + t] = counts(t) ? 1.0f : 0.0f;
  }
}

void fill_inputs(const Program& program, std::span<const int> ids, std::span<const int> source_ids,
                 std::span<float* const> memory) {
  const auto cells = [&](TensorId id) {
    return std::span<float>(memory[static_cast<std::size_t>(id)],
                            static_cast<std::size_t>(cell_count(program.look(id).axes)));
  };
  const auto fill_all = [&](TensorId id, float value) {
    if (id >= 0) std::ranges::fill(cells(id), value);
  };
  const auto fill_ids = [&](TensorId id, std::span<const int> from) {
    if (id < 0) return;
    std::transform(from.begin(), from.end(), cells(id).begin(),
                   [](int token) { return static_cast<float>(token); });
  };
  fill_ids(program.token_ids, ids);
  fill_segments(program, memory);
  fill_ids(program.source_ids, source_ids);
  for (const TensorId id : program.dropout) fill_all(id, 1.0f);
  fill_source_mask(program, program.source_mask, memory);
  fill_source_mask(program, program.cross_mask, memory);
  fill_masks(program, memory);
  const MaskSpec& own = program.config.mask;
  const auto counts = [&](std::int64_t t) {
    return own.kind != MaskKind::kPadding ||
           !std::binary_search(own.padding.begin(), own.padding.end(), static_cast<int>(t));
  };
  fill_pooling(program, 0, static_cast<std::int64_t>(ids.size()), counts, memory);
  const auto source_counts = [&](std::int64_t t) {
    return !std::binary_search(own.source_padding.begin(), own.source_padding.end(),
                               static_cast<int>(t));
  };
  fill_source_present(program, 0, static_cast<std::int64_t>(source_ids.size()), source_counts,
                      memory);
  if (program.targets < 0) return;
  fill_all(program.token_targets, -1.0f);
  fill_all(program.chosen, 0.0f);
  if (program.config.form == ModelForm::kClasses) return fill_all(program.targets, 0.0f);
  fill_all(program.targets, -1.0f);
  if (program.config.numbers) return;  // the row says nothing of what belongs to its numbers
  if (!ids.empty()) fill_ids(program.targets, ids.subspan(1));
}

}  // namespace headlight
