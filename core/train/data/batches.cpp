#include "core/train/data/batches.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/model/model.h"
#include "core/train/data/length_batches.h"

namespace headlight {

ModelForm form_of(TaskKind kind) {
  if (kind == TaskKind::kClassify) return ModelForm::kClasses;
  return kind == TaskKind::kTranslate ? ModelForm::kTranslate : ModelForm::kTokens;
}

RunShape shape_of(const Task& task, const Config& config) {
  // Who judges a row looks at all of it, whichever way its tokens look.
  const bool looks = task.kind() == TaskKind::kTranslate || task.kind() == TaskKind::kClassify ||
                     !config.mask.is_causal();
  return {.batch = 1,
          .positions = task.context(),
          .vocab = task.vocabulary().size(),
          .classes = static_cast<std::int64_t>(task.classes().size()),
          .source = task.source_length(),
          .padded = looks && task.vocabulary().id_of(Special::kPad).has_value(),
          .separator = separator_of(config, &task.vocabulary())};
}

TaskBatches::TaskBatches(std::shared_ptr<const Task> task, std::int64_t batch, std::uint64_t seed,
                         Split split)
    : task_(std::move(task)),
      random_(seed, split == Split::kTraining ? 0 : 1),
      split_(split),
      batch_{batch, task_->context(), {}, {}} {
  batch_.sources = task_->source_length();
}

namespace {

// Pads the example, and adds it to the lists of the batch.
void add_row(TokenBatch& batch, const Task& task, TaskExample& example, bool only_scored) {
  const auto append = [](std::vector<int>& list, const std::vector<int>& ids) {
    list.insert(list.end(), ids.begin(), ids.end());
  };
  batch.lengths.push_back(static_cast<int>(example.tokens.size()));
  if (batch.sources > 0) batch.source_lengths.push_back(static_cast<int>(example.source.size()));
  pad(example, task, static_cast<std::size_t>(batch.positions),
      static_cast<std::size_t>(batch.sources));
  append(batch.tokens, example.tokens);
  append(batch.source, example.source);
  if (task.hides_tokens()) append(batch.token_targets, example.targets);
  if (task.kind() == TaskKind::kClassify) return batch.targets.push_back(example.label);
  append(batch.targets, example.targets);
  if (!only_scored || example.scored.empty()) return;
  int* targets = batch.targets.data() + batch.targets.size() - example.targets.size();
  for (std::size_t i = 0; i < example.scored.size(); ++i)
    if (!example.scored[i]) targets[i] = -1;
}

}  // namespace

TokenBatch batch_of(const Task& task, std::span<const TaskExample> examples) {
  return batch_of(task, examples, task.context(), task.source_length());
}

TokenBatch batch_of(const Task& task, std::span<const TaskExample> examples, std::int64_t positions,
                    std::int64_t sources) {
  TokenBatch batch{static_cast<std::int64_t>(examples.size()), positions, {}, {}};
  batch.sources = sources;
  for (TaskExample example : examples) add_row(batch, task, example, false);
  return batch;
}

const TokenBatch& TaskBatches::next() {
  for (std::vector<int>* list : {&batch_.tokens, &batch_.targets, &batch_.lengths, &batch_.source,
                                 &batch_.source_lengths, &batch_.token_targets})
    list->clear();
  examples_.clear();
  for (std::int64_t r = 0; r < batch_.rows; ++r) {
    TaskExample example = task_->draw(random_, split_);
    add_row(batch_, *task_, example, only_scored_);
    examples_.push_back(std::move(example));
  }
  return batch_;
}

bool is_running_text(const Task& task) {
  return task.kind() == TaskKind::kNextToken && task.bytes_per_token(Split::kTraining) > 0;
}

StreamBatches::StreamBatches(std::shared_ptr<const Task> task, std::int64_t streams, Split split)
    : task_(std::move(task)), split_(split), batch_{streams, task_->context(), {}, {}} {
  if (!is_running_text(*task_))
    throw UsageError(Message{"error.memory_task", {{"task", task_->id()}}});
  const auto all = static_cast<std::int64_t>(task_->rows(split));
  segments_ = all / streams;
  if (segments_ >= 2) return;
  throw Error(Message{all < 4 ? "error.memory_short_text" : "error.memory_short",
                      {{"segments", std::to_string(all)},
                       {"context", std::to_string(task_->context())},
                       {"streams", std::to_string(streams)},
                       {"most", std::to_string(all / 2)}}});
}

const TokenBatch& StreamBatches::next() {
  const auto segment = static_cast<std::int64_t>(read_++ % static_cast<std::uint64_t>(segments_));
  batch_.tokens.clear();
  batch_.targets.clear();
  batch_.follows = segment > 0;
  for (std::int64_t r = 0; r < batch_.rows; ++r) {
    const TaskExample row = task_->row(static_cast<std::size_t>(r * segments_ + segment), split_);
    batch_.tokens.insert(batch_.tokens.end(), row.tokens.begin(), row.tokens.end());
    batch_.targets.insert(batch_.targets.end(), row.targets.begin(), row.targets.end());
  }
  return batch_;
}

std::unique_ptr<BatchSource> training_batches(const Config& config,
                                              std::shared_ptr<const Task> task, std::int64_t batch,
                                              std::uint64_t seed, bool by_length) {
  const bool of_numbers = task->vocabulary().cut() == TextCut::kNumbers;
  if (of_numbers != config.numbers)
    throw UsageError(
        Message{of_numbers ? "error.numbers_task" : "error.numbers_words", {{"task", task->id()}}});
  if (task->hides_tokens() != config.token_head)
    throw UsageError(Message{config.token_head ? "error.token_head_data" : "error.token_head_off"});
  if (config.memory > 0)
    return std::make_unique<StreamBatches>(std::move(task), batch, Split::kTraining);
  if (by_length) return std::make_unique<LengthBatches>(std::move(task), config, batch, seed);
  return std::make_unique<TaskBatches>(std::move(task), batch, seed, Split::kTraining);
}

std::vector<TokenBatch> measured_segments(const std::shared_ptr<const Task>& task, Split split,
                                          std::size_t most_rows) {
  constexpr std::size_t kMostStreams = 16;
  const std::size_t all = task->rows(split);
  const std::size_t streams = std::clamp<std::size_t>(all / 2, 1, kMostStreams);
  if (all == 0) return {};
  std::vector<TokenBatch> batches;
  if (all < 2) return {batch_of(*task, std::vector{task->row(0, split)})};
  StreamBatches source(task, static_cast<std::int64_t>(streams), split);
  const std::size_t segments = std::min(static_cast<std::size_t>(source.segments()),
                                        std::max<std::size_t>(most_rows / streams, 1));
  for (std::size_t s = 0; s < segments; ++s) batches.push_back(source.next());
  return batches;
}

RowBatches::RowBatches(NpyIntegers rows, std::int64_t batch) : rows_(std::move(rows)) {
  const std::vector<std::int64_t>& shape = rows_.shape;
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 2) {
    std::string got;
    for (const std::int64_t size : shape) got += (got.empty() ? "" : ", ") + std::to_string(size);
    throw Error(Message{"train.rows_shape", {{"got", "(" + got + ")"}}});
  }
  for (const std::int64_t id : rows_.values) {
    if (id < 0 || id >= kLargestVocab)
      throw Error(
          Message{"train.rows_id",
                  {{"id", std::to_string(id)}, {"last", std::to_string(kLargestVocab - 1)}}});
    largest_ = std::max(largest_, id);
  }
  batch_ = {batch, shape[1] - 1, {}, {}};
}

const TokenBatch& RowBatches::next() {
  batch_.tokens.clear();
  batch_.targets.clear();
  const auto width = static_cast<std::size_t>(rows_.shape[1]);
  const auto count = static_cast<std::uint64_t>(rows_.shape[0]);
  for (std::int64_t r = 0; r < batch_.rows; ++r) {
    const std::int64_t* row = rows_.values.data() + (next_row_++ % count) * width;
    for (std::size_t t = 0; t + 1 < width; ++t) {
      batch_.tokens.push_back(static_cast<int>(row[t]));
      batch_.targets.push_back(static_cast<int>(row[t + 1]));
    }
  }
  return batch_;
}

}  // namespace headlight
