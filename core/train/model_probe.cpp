#include "core/train/model_probe.h"

#include <algorithm>

#include "core/program_memory.h"

namespace headlight {
namespace {

// What a sum over examples weighs a score by: the rows that it was measured on.
void add_scores(HeadScores& sum, const HeadScores& scores) {
  for (std::size_t b = 0; b < kBadgeCount; ++b) {
    sum.all[b].value += scores.all[b].value * static_cast<double>(scores.all[b].rows);
    sum.all[b].rows += scores.all[b].rows;
  }
}

bool is_scored(const TaskExample& example, std::size_t i) {
  return example.targets[i] >= 0 && (example.scored.empty() || example.scored[i] != 0);
}

}  // namespace

std::optional<Halves> copy_halves(const TaskExample& example) {
  std::size_t first = 0;
  while (first < example.targets.size() && !is_scored(example, first)) ++first;
  const std::size_t length = example.targets.size() - first;
  // The letters, the separator at which the answer begins, the answer but for its last letter.
  if (first == 0 || length != first) return std::nullopt;
  for (std::size_t i = first; i < example.targets.size(); ++i) {
    if (!is_scored(example, i)) return std::nullopt;
  }
  const auto n = static_cast<std::int64_t>(first);
  return Halves{0, n, n};
}

ModelProbe::ModelProbe(const Config& config, std::shared_ptr<const Task> task, std::uint64_t seed,
                       int count)
    : task_(std::move(task)), backend_(make_eigen_backend(1)) {
  const Split split = task_->has(Split::kValidation) ? Split::kValidation : Split::kTraining;
  Random random(seed, 2);  // 0 and 1 are those of the batches
  for (int i = 0; i < count; ++i) examples_.push_back(task_->draw(random, split));

  const std::int64_t positions = task_->context();
  program_ = std::make_shared<const Program>(
      build_program(config, {count, positions, task_->vocabulary().size()}));
  arena_.resize(arena_cells(*program_));
  memory_.assign(program_->tensors.size(), nullptr);
  lay_out(*program_, arena_.data(), memory_);
  for (std::size_t id = 0; id < program_->tensors.size(); ++id) {
    if (program_->tensors[id].kind == TensorKind::kParameter)
      parameters_.push_back(static_cast<TensorId>(id));
  }
  for (int layer = 0; layer < config.layers; ++layer)
    patterns_.push_back(program_->require("blocks." + std::to_string(layer) + ".attn.pattern"));

  float* ids = memory_[static_cast<std::size_t>(program_->token_ids)];
  for (TaskExample example : examples_) {
    pad(example, *task_);
    ids = std::copy(example.tokens.begin(), example.tokens.end(), ids);
  }
  const auto cells = static_cast<std::size_t>(positions * positions);
  weights_.reserve(cells);
  mask_.resize(cells);
  fill_mask(config.mask, static_cast<int>(positions), mask_.data());
  if (program_->mask < 0) return;
  float* mask = memory_[static_cast<std::size_t>(program_->mask)];
  for (int i = 0; i < count; ++i) mask = std::copy(mask_.begin(), mask_.end(), mask);
}

HeadScores ModelProbe::score_head(const float* pattern, std::int64_t head, std::int64_t heads) {
  const std::int64_t positions = task_->context();
  HeadScores sum;
  std::vector<float> mask;
  for (std::size_t e = 0; e < examples_.size(); ++e) {
    const TaskExample& example = examples_[e];
    const auto n = static_cast<std::int64_t>(example.tokens.size());
    const float* cells =
        pattern + (static_cast<std::int64_t>(e) * heads + head) * positions * positions;
    weights_.clear();
    mask.clear();
    for (std::int64_t i = 0; i < n; ++i) {  // without the padding
      weights_.insert(weights_.end(), cells + i * positions, cells + i * positions + n);
      mask.insert(mask.end(), mask_.begin() + i * positions, mask_.begin() + i * positions + n);
    }
    add_scores(sum, head_scores({weights_, n, n, example.tokens, mask, copy_halves(example)}));
  }
  for (HeadScore& score : sum.all) {
    if (score.rows > 0) score.value /= static_cast<double>(score.rows);
  }
  return sum;
}

ProbeResult ModelProbe::run(std::span<const Tensor> parameters) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    memory_[static_cast<std::size_t>(parameters_[i])] =
        const_cast<float*>(parameters[i].data.data());  // only read
  }
  share_aliases(*program_, memory_);
  backend_->run(*program_, program_->calls, memory_);

  ProbeResult result;
  const std::int64_t heads = program_->config.head_count();
  for (const TensorId id : patterns_) {
    for (std::int64_t h = 0; h < heads; ++h)
      result.heads.push_back(score_head(memory_[static_cast<std::size_t>(id)], h, heads));
  }
  const float* logits = memory_[static_cast<std::size_t>(program_->require("logits"))];
  const std::int64_t vocab = program_->shape.vocab, positions = program_->shape.positions;
  for (std::size_t e = 0; e < examples_.size(); ++e) {
    std::vector<int> predicted;
    for (std::size_t t = 0; t < examples_[e].tokens.size(); ++t) {
      const float* row =
          logits +
          (static_cast<std::int64_t>(e) * positions + static_cast<std::int64_t>(t)) * vocab;
      predicted.push_back(static_cast<int>(std::max_element(row, row + vocab) - row));
    }
    result.score.add(examples_[e], predicted);
    result.predicted.push_back(std::move(predicted));
  }
  return result;
}

}  // namespace headlight
