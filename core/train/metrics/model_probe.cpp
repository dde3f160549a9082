#include "core/train/metrics/model_probe.h"

#include <algorithm>

#include "core/graph/program_memory.h"
#include "core/train/data/batch_inputs.h"
#include "core/train/data/batches.h"
#include "core/train/metrics/likelihood.h"

namespace headlight {
namespace {

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
    : task_(std::move(task)), backend_(make_cpu_backend(1)) {
  const Split split = task_->has(Split::kValidation) ? Split::kValidation : Split::kTraining;
  TaskBatches source(task_, count, scatter(seed ^ hash_text("probe")), split);
  const TokenBatch& batch = source.next();
  examples_ = source.examples();
  for (std::size_t e = 0; e < examples_.size(); ++e) {  // as they were drawn, without padding
    TaskExample& example = examples_[e];
    example.tokens.resize(static_cast<std::size_t>(batch.lengths[e]));
    example.targets.resize(std::min(example.targets.size(), example.tokens.size()));
    example.scored.resize(std::min(example.scored.size(), example.tokens.size()));
    if (!batch.source_lengths.empty())
      example.source.resize(static_cast<std::size_t>(batch.source_lengths[e]));
  }

  RunShape shape = shape_of(*task_, config);
  shape.batch = count;
  program_ = std::make_shared<const Program>(build_training_program(config, shape));
  calls_ = calls_for(*program_, program_->logits);
  arena_.resize(arena_cells(*program_));
  memory_.assign(program_->tensors.size(), nullptr);
  lay_out(*program_, arena_.data(), memory_);
  for (std::size_t id = 0; id < program_->tensors.size(); ++id) {
    const TensorSpec& spec = program_->tensors[id];
    if (spec.kind == TensorKind::kParameter) parameters_.push_back(static_cast<TensorId>(id));
    if (spec.role == Role::kPattern) patterns_.push_back(static_cast<TensorId>(id));
  }
  fill_own_mask(*program_, memory_);
  fill_batch(*program_, batch, 0, memory_);
}

// Queries and keys of a pattern are tokens of the row, or of the source; padding is left out.
HeadScores ModelProbe::score_head(TensorId pattern, std::int64_t head) const {
  const std::vector<Axis>& axes = program_->tensors[static_cast<std::size_t>(pattern)].axes;
  const std::int64_t heads = axes[1].size, all_queries = axes[2].size, all_keys = axes[3].size;
  const bool from_source = axes[2].name != "query", to_source = axes[3].name != "key";
  const bool crosses = from_source != to_source, own = !from_source && !to_source;
  HeadScoreMean mean;
  std::vector<float> weights, mask;
  for (std::size_t e = 0; e < examples_.size(); ++e) {
    const TaskExample& example = examples_[e];
    const std::vector<int>& rows = from_source ? example.source : example.tokens;
    const std::vector<int>& columns = to_source ? example.source : example.tokens;
    const auto queries = static_cast<std::int64_t>(rows.size());
    const auto keys = static_cast<std::int64_t>(columns.size());
    const float* cells = memory_[static_cast<std::size_t>(pattern)] +
                         (static_cast<std::int64_t>(e) * heads + head) * all_queries * all_keys;
    weights.clear();
    for (std::int64_t i = 0; i < queries; ++i)
      weights.insert(weights.end(), cells + i * all_keys, cells + i * all_keys + keys);
    mask.clear();
    const int layer = program_->tensors[static_cast<std::size_t>(pattern)].place.layer;
    if (own && program_->own_mask(layer) >= 0) {
      mask.resize(weights.size());
      fill_mask(program_->config.mask_of(layer), static_cast<int>(queries), mask.data());
    }
    const std::span<const int> ids = crosses ? std::span<const int>() : std::span<const int>(rows);
    mean.add(head_scores(
        {weights, queries, keys, ids, mask, own ? copy_halves(example) : std::nullopt}));
  }
  return mean.scores();
}

std::vector<int> ModelProbe::predictions(std::size_t e) const {
  const TensorId id = program_->logits;
  const std::int64_t outcomes = program_->outcomes();
  const bool classes = program_->config.form == ModelForm::kClasses;
  const std::int64_t rows = classes ? 1 : program_->shape.positions;
  const float* logits =
      memory_[static_cast<std::size_t>(id)] + static_cast<std::int64_t>(e) * rows * outcomes;
  const std::int64_t count = classes ? 1 : static_cast<std::int64_t>(examples_[e].tokens.size());
  std::vector<int> predicted;
  for (std::int64_t t = 0; t < count; ++t) {
    const float* row = logits + t * outcomes;
    predicted.push_back(static_cast<int>(std::max_element(row, row + outcomes) - row));
  }
  return predicted;
}

bool writes_rows(const Task& task) {
  if (task.kind() == TaskKind::kTranslate) return true;
  return task.kind() == TaskKind::kNextToken && !is_running_text(task) &&
         task.vocabulary().id_of(Special::kEnd).has_value();
}

// All rows at once, a place after the other: what stands behind it is felt by nobody.
void ModelProbe::write_rows(ProbeResult& result) {
  const std::int64_t n = program_->shape.positions, vocab = program_->outcomes();
  if (!writes_rows(*task_) || n > kMostWritten) return;
  const std::optional<int> end = task_->vocabulary().id_of(Special::kEnd);
  float* tokens = memory_[static_cast<std::size_t>(program_->token_ids)];
  const float* logits = memory_[static_cast<std::size_t>(program_->logits)];
  const std::vector<float> given(tokens,
                                 tokens + cell_count(program_->look(program_->token_ids).axes));
  result.written = result.predicted;
  for (std::int64_t t = 0; t < n; ++t) {
    fill_segments(*program_, memory_);
    if (t > 0) backend_->run(*program_, calls_, memory_);
    for (std::size_t e = 0; e < examples_.size(); ++e) {
      const TaskExample& example = examples_[e];
      const auto place = static_cast<std::size_t>(t);
      if (place >= example.targets.size()) continue;
      const bool begun = example.targets[place] >= 0 || (t > 0 && example.targets[place - 1] >= 0);
      if (!begun) continue;
      std::vector<int>& row = result.written[e];
      const std::int64_t at = static_cast<std::int64_t>(e) * n + t;
      row[place] = largest_of({logits + at * vocab, static_cast<std::size_t>(vocab)});
      const bool ended = t > 0 && example.targets[place - 1] >= 0 && row[place - 1] == end;
      if (ended) row[place] = *end;
      if (place + 1 < example.tokens.size()) tokens[at + 1] = static_cast<float>(row[place]);
    }
  }
  std::ranges::copy(given, tokens);
  for (std::size_t e = 0; e < examples_.size(); ++e)
    result.alone.add(examples_[e], result.written[e]);
}

ProbeResult ModelProbe::run(std::span<const Tensor> parameters) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    memory_[static_cast<std::size_t>(parameters_[i])] =
        const_cast<float*>(parameters[i].data.data());  // only read
  }
  share_aliases(*program_, memory_);
  backend_->run(*program_, calls_, memory_);
  ProbeResult result;
  for (const TensorId id : patterns_) {
    const std::int64_t heads = program_->tensors[static_cast<std::size_t>(id)].axes[1].size;
    for (std::int64_t h = 0; h < heads; ++h) result.heads.push_back(score_head(id, h));
  }
  for (std::size_t e = 0; e < examples_.size(); ++e) {
    result.predicted.push_back(predictions(e));
    result.score.add(examples_[e], result.predicted.back());
  }
  write_rows(result);
  return result;
}

}  // namespace headlight
