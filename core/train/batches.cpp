#include "core/train/batches.h"

#include <algorithm>
#include <climits>

#include "core/error.h"

namespace headlight {

TaskBatches::TaskBatches(std::shared_ptr<const Task> task, std::int64_t batch, std::uint64_t seed,
                         Split split)
    : task_(std::move(task)),
      random_(seed, split == Split::kTraining ? 0 : 1),
      split_(split),
      batch_{batch, task_->context(), {}, {}} {
  if (task_->kind() != TaskKind::kNextToken && task_->kind() != TaskKind::kMasked)
    throw UsageError(Message{"train.task_kind", {{"task", task_->id()}}});
}

const TokenBatch& TaskBatches::next() {
  batch_.tokens.clear();
  batch_.targets.clear();
  examples_.clear();
  for (std::int64_t r = 0; r < batch_.rows; ++r) {
    TaskExample example = task_->draw(random_, split_);
    pad(example, *task_);
    batch_.tokens.insert(batch_.tokens.end(), example.tokens.begin(), example.tokens.end());
    batch_.targets.insert(batch_.targets.end(), example.targets.begin(), example.targets.end());
    examples_.push_back(std::move(example));
  }
  return batch_;
}

RowBatches::RowBatches(NpyIntegers rows, std::int64_t batch) : rows_(std::move(rows)) {
  const std::vector<std::int64_t>& shape = rows_.shape;
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 2) {
    std::string got;
    for (const std::int64_t size : shape) got += (got.empty() ? "" : ", ") + std::to_string(size);
    throw Error(Message{"train.rows_shape", {{"got", "(" + got + ")"}}});
  }
  for (const std::int64_t id : rows_.values) {
    if (id < 0 || id >= INT_MAX)
      throw Error(Message{"train.rows_id", {{"id", std::to_string(id)}}});
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
