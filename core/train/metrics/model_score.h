// How well a model does: on fresh examples of its task, and on a text.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/model/model.h"
#include "core/train/tasks/task.h"

namespace headlight {

struct TaskFigures {
  TaskScore score;
  double loss = 0;                            // nats, mean over the targets that count
  std::int64_t counted = 0;                   // targets
  std::map<int, TaskScore> by_distance = {};  // of tasks that tell distances: Task::distance()
};

/// The task that a model learned, with the sizes that it learned it with: of a bundled one by its
/// recipe, of a folder by its train.json, or their defaults. Throws UsageError for a model without
/// a task, and Error for one whose vocabulary is not the task's. `other` sizes are those of other
/// examples than it learned from, of longer ones say; UsageError for what the task does not have,
/// and for examples longer than the places that the model has weights for.
std::shared_ptr<const Task> task_of(const Model&, const TaskOptions& other = {});

/// `count` examples of the validation split, drawn by the seed. A classifier's are right where its
/// class has the largest logit; an encoder-decoder is given the right row so far at each of its
/// tokens (teacher forcing). Throws Error for a model of another form than the task needs.
TaskFigures score_task(std::shared_ptr<const Model>, const Task&, std::uint64_t seed, int count,
                       int threads);

struct TextFigures {
  std::int64_t tokens = 0, right = 0;  // predicted; with the largest logit
  std::int64_t bytes = 0;              // of the text that they stand for
  double nats = 0;                     // −log p, summed
  std::int64_t context = 0, stride = 0;
  std::int64_t memory = 0;  // rows that are remembered from window to window
  double loss() const { return tokens ? nats / static_cast<double>(tokens) : 0; }
  double perplexity() const;
  double bits_per_byte() const;
  double accuracy() const { return tokens ? double(right) / double(tokens) : 0; }
};

/// Every token of the text but the first is predicted once, and the first, too, where the tokenizer
/// puts a token before every text; from at least context − stride tokens before it where there are
/// so many: windows of `context` tokens begin `stride` tokens apart, and of each but the first only
/// the last `stride` predictions count. Throws Error for a token that the model does not know and
/// for a text of less than two tokens, UsageError for a stride that is not in 1 … context. A model
/// with memory reads windows side by side, segment after segment: its stride is its context.
TextFigures score_text(std::shared_ptr<const Model>, std::string_view text, std::int64_t stride,
                       int threads);

}  // namespace headlight
