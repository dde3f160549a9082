#include "core/train/heads/trace_heads.h"

namespace headlight {
namespace {

// What one attention may look at, and of which tokens.
struct Looks {
  TensorId mask = -1;
  std::span<const int> ids;
};

Looks looks_of(const Trace& trace, const Step& step) {
  const Program& program = trace.program();
  if (step.section == Section::kCrossAttention) return {program.cross_mask, {}};
  if (step.stack == Stack::kEncoder) return {program.source_mask, trace.input().source_ids};
  return {program.own_mask(step.layer), trace.input().ids};
}

// The first `wanted` columns of a matrix of so many, copied.
std::span<const float> first_columns(std::span<const float> from, std::int64_t columns,
                                     std::int64_t wanted, std::vector<float>& copy) {
  copy.clear();
  for (std::size_t at = 0; at < from.size(); at += static_cast<std::size_t>(columns)) {
    const auto row = from.subspan(at, static_cast<std::size_t>(wanted));
    copy.insert(copy.end(), row.begin(), row.end());
  }
  return copy;
}

}  // namespace

std::vector<int> pattern_steps(const Program& program) {
  std::vector<int> steps;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const Step& step = program.steps[i];
    if (!step.backward && program.makes(step, Role::kPattern)) steps.push_back(static_cast<int>(i));
  }
  return steps;
}

TraceHeads score_heads(const Trace& trace, const std::optional<Halves>& halves) {
  TraceHeads all{trace.serial(), {}};
  const Program& program = trace.program();
  const std::vector<int>& remembered = trace.input().memory_ids;
  std::vector<int> with_memory = remembered;
  with_memory.insert(with_memory.end(), trace.input().ids.begin(), trace.input().ids.end());
  for (const int place : pattern_steps(program)) {
    const Step& step = program.steps[static_cast<std::size_t>(place)];
    const TensorView t = trace.tensor(step.tensor);  // (batch 1, head, query, key)
    const std::int64_t queries = t.axes[2].size, keys = t.axes[3].size;
    const auto cells = static_cast<std::size_t>(queries * keys);
    const Looks looks = looks_of(trace, step);
    HeadPattern pattern{{}, queries, keys, looks.ids, {}, {}};
    if (looks.ids.data() == trace.input().ids.data()) pattern.halves = halves;
    if (!remembered.empty()) {
      pattern.ids = with_memory;
      pattern.memory = std::ssize(remembered);
    }
    if (looks.mask >= 0) pattern.mask = {trace.tensor(looks.mask).data, cells};
    pattern.keys = keys - program.config.extra_keys();  // what belongs to no token is left out
    std::vector<float> mask, weights;
    if (pattern.keys < keys) pattern.mask = first_columns(pattern.mask, keys, pattern.keys, mask);
    std::vector<HeadScores>& scores = all.scores.emplace_back();
    for (std::int64_t head = 0; head < t.axes[1].size; ++head) {
      pattern.weights = {t.data + static_cast<std::size_t>(head) * cells, cells};
      if (pattern.keys < keys)
        pattern.weights = first_columns(pattern.weights, keys, pattern.keys, weights);
      scores.push_back(head_scores(pattern));
    }
  }
  return all;
}

}  // namespace headlight
