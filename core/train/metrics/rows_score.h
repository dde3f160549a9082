// How well a model does on each row of a table: which class a classifier chooses, what an
// encoder-decoder writes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/model/model.h"
#include "core/train/tasks/task.h"

namespace headlight {

struct LabelFigures {
  // How often a row of one class was taken for another: (class, chosen), row-major.
  std::vector<std::int64_t> confusion;
  std::int64_t classes = 0, rows = 0, right = 0;
  double nats = 0;  // −log p of the right class, summed
  // Of a task that hides tokens: how many, how many are right, and −log p of them, summed.
  std::int64_t hidden = 0, hidden_right = 0;
  double hidden_nats = 0;
  double hidden_accuracy() const { return hidden ? double(hidden_right) / double(hidden) : 0; }
  double hidden_loss() const { return hidden ? hidden_nats / static_cast<double>(hidden) : 0; }
  double accuracy() const { return rows ? double(right) / double(rows) : 0; }
  double loss() const { return rows ? nats / static_cast<double>(rows) : 0; }
};

/// Of every row of the task's training split. A class is chosen that has the largest logit, of
/// equal ones the first. Throws Error for a model that is no classifier or has other classes.
LabelFigures score_labels(std::shared_ptr<const Model>, const Task&, int threads);

/// A table of how often rows of a class (a line each) were taken for another (a column each):
/// (class, chosen), row-major.
std::string confusion_text(const std::vector<std::string>& classes,
                           std::span<const std::int64_t> counts);

struct PairFigures {
  std::int64_t rows = 0, exact = 0;  // rows; those that the model writes wholly right by itself
  std::int64_t tokens = 0;           // of the targets, [EOS] among them
  std::int64_t given = 0;            // right where the right row so far is given
  std::int64_t alone = 0;            // right in their place where the model goes on with its own
  double nats = 0;                   // −log p of the tokens, the right row so far given, summed
  double exact_share() const { return rows ? double(exact) / double(rows) : 0; }
  double given_share() const { return tokens ? double(given) / double(tokens) : 0; }
  double alone_share() const { return tokens ? double(alone) / double(tokens) : 0; }
  double loss() const { return tokens ? nats / static_cast<double>(tokens) : 0; }
};

/// One row: its source, its target with [EOS], and what the model says at each place of the target:
/// where the right row so far is given, and where it goes on with what it wrote itself.
struct PairRow {
  std::vector<int> source, target, given, alone;
};

/// Of every row of the task's training split; the model always takes the token with the largest
/// logit, of equal ones the first. Of a target that was cut [EOS] is not asked for. `rows`, if any,
/// gets each of them. Throws Error for a model that is neither an encoder-decoder nor a decoder
/// that learned pairs.
PairFigures score_pairs(std::shared_ptr<const Model>, const Task&, int threads,
                        const std::function<void(const PairRow&)>& rows = {});

}  // namespace headlight
