// Where a training run's batches come from: examples of a task, or rows of ids in a file.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/random.h"
#include "core/io/npy.h"
#include "core/train/learner.h"
#include "core/train/tasks/task.h"

namespace headlight {

class BatchSource {
 public:
  virtual ~BatchSource() = default;
  /// The next batch; its memory may be reused by the one after.
  virtual const TokenBatch& next() = 0;
  /// One number from which the source goes on with the very batches that would have come.
  virtual std::uint64_t state() const = 0;
  virtual void restore(std::uint64_t state) = 0;
};

/// The form of model that learns such a task.
ModelForm form_of(TaskKind);
/// The shape of a program that learns the task, for a batch of one row. It has masks for padding
/// where the vocabulary has [PAD] and a token would look at it.
RunShape shape_of(const Task&, const Config&);

/// These examples as one batch, padded to the task's context and source length, or to widths that
/// all of them have room in.
TokenBatch batch_of(const Task&, std::span<const TaskExample>);
TokenBatch batch_of(const Task&, std::span<const TaskExample>, std::int64_t positions,
                    std::int64_t sources);

/// Examples drawn from a task, padded to its context and its source length.
class TaskBatches final : public BatchSource {
 public:
  TaskBatches(std::shared_ptr<const Task>, std::int64_t batch, std::uint64_t seed, Split);
  const TokenBatch& next() override;
  std::uint64_t state() const override { return random_.state(); }
  void restore(std::uint64_t state) override { random_ = Random::at_state(state); }
  /// The examples of the last batch.
  const std::vector<TaskExample>& examples() const { return examples_; }
  /// From now on only targets that a score counts (TaskExample::scored) are counted.
  void count_only_scored() { only_scored_ = true; }

 private:
  std::shared_ptr<const Task> task_;
  Random random_;
  Split split_;
  TokenBatch batch_;
  std::vector<TaskExample> examples_;
  bool only_scored_ = false;
};

/// Is what the task draws from one running text, whose rows (Task::row) follow each other?
bool is_running_text(const Task&);

/// A running text read segment after segment, for models with memory: each row of the batch is a
/// stream of its own, that begins where the text's segments are divided evenly and reads one after
/// the other. At the streams' end all begin again, with nothing remembered. Segments left over at
/// the end of the text are not read.
class StreamBatches final : public BatchSource {
 public:
  /// Throws UsageError for a task that is no running text, and Error for a text in which the
  /// streams have not two segments each.
  StreamBatches(std::shared_ptr<const Task>, std::int64_t streams, Split);
  const TokenBatch& next() override;
  /// Segments that each stream has read, over all its rounds.
  std::uint64_t state() const override { return read_; }
  void restore(std::uint64_t state) override { read_ = state; }
  /// Of each stream.
  std::int64_t segments() const { return segments_; }

 private:
  std::shared_ptr<const Task> task_;
  Split split_;
  std::int64_t segments_ = 0;
  std::uint64_t read_ = 0;
  TokenBatch batch_;
};

/// What a model of this config learns the task from: StreamBatches where it has a memory,
/// LengthBatches where rows are put together by length, else TaskBatches; of this seed. Throws as
/// these.
std::unique_ptr<BatchSource> training_batches(const Config&, std::shared_ptr<const Task>,
                                              std::int64_t batch, std::uint64_t seed,
                                              bool by_length = false);

/// What a model with memory is measured on: up to so many rows of the split, in streams that are
/// read from their beginning, batch after batch. Empty where the split has no row.
std::vector<TokenBatch> measured_segments(const std::shared_ptr<const Task>&, Split,
                                          std::size_t most_rows);

/// Rows of context + 1 ids in the order of a file, starting over at its end: the first `context` of
/// a row are what is read, the last `context` what should be predicted.
class RowBatches final : public BatchSource {
 public:
  /// Throws Error for an array that has not two axes, no row, or rows of less than two ids, and for
  /// ids that are negative or not below kLargestVocab.
  RowBatches(NpyIntegers rows, std::int64_t batch);
  const TokenBatch& next() override;
  std::uint64_t state() const override { return next_row_; }
  void restore(std::uint64_t state) override { next_row_ = state; }
  std::int64_t context() const { return batch_.positions; }
  const NpyIntegers& rows() const { return rows_; }
  /// The largest id and one: the least vocabulary that knows them all.
  std::int64_t vocab() const { return largest_ + 1; }

 private:
  NpyIntegers rows_;
  std::uint64_t next_row_ = 0;
  std::int64_t largest_ = 0;
  TokenBatch batch_;
};

}  // namespace headlight
