// ModelProbe: looks at a model on the same few examples again and again while it learns: what kind
// of heads it has, what it answers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/backends/backend.h"
#include "core/train/heads/head_scores.h"
#include "core/train/tasks/task.h"

namespace headlight {

/// What a model does with the examples of a probe.
struct ProbeResult {
  // Of every pattern in the order of the program (an encoder's before the decoder's, and there the
  // own before the crossing one), head by head; each score over all examples.
  std::vector<HeadScores> heads;
  // By example: the most probable id at each token, or the most probable class alone.
  std::vector<std::vector<int>> predicted;
  TaskScore score;
  // Of tasks whose rows are written (writes_rows()): the same where the model goes on with what it
  // wrote itself. Empty for others, and for rows of more than kMostWritten tokens.
  std::vector<std::vector<int>> written;
  TaskScore alone;
};

inline constexpr std::int64_t kMostWritten = 64;

/// Does a model of this task write a row by itself until [EOS]: translations, and pairs joined in
/// one row?
bool writes_rows(const Task&);

class ModelProbe {
 public:
  /// Draws `count` examples of the task's validation split (of the training split where it has no
  /// other) by the seed. Throws UsageError (validate).
  ModelProbe(const Config&, std::shared_ptr<const Task>, std::uint64_t seed, int count);

  /// One run over all examples. `parameters` in the order of the program. Slow beside a step of a
  /// small batch: not for every step.
  ProbeResult run(std::span<const Tensor> parameters);

  /// As drawn, not padded.
  std::span<const TaskExample> examples() const { return examples_; }

 private:
  HeadScores score_head(TensorId pattern, std::int64_t head) const;
  std::vector<int> predictions(std::size_t example) const;
  void write_rows(ProbeResult&);

  std::shared_ptr<const Task> task_;
  std::vector<TaskExample> examples_;
  std::shared_ptr<const Program> program_;
  std::vector<OpCall> calls_;  // up to the logits
  std::vector<TensorId> parameters_, patterns_;
  FloatBuffer arena_;
  std::vector<float*> memory_;
  std::unique_ptr<Backend> backend_;
};

/// Where the halves of a copy lie in an example: what is to be said is as long as what was given
/// before it and a separator. Unset for examples of another form.
std::optional<Halves> copy_halves(const TaskExample&);

}  // namespace headlight
