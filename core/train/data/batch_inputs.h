// A batch as the inputs of a training program: ids, targets, what is padding, what dropout leaves
// out; and what came of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/program.h"
#include "core/train/learner.h"

namespace headlight {

/// The shape of a program for narrower rows of so many tokens and source tokens; learned positions
/// keep a row for each place that the model knows.
RunShape narrowed(RunShape of_model, std::int64_t positions, std::int64_t sources);

/// Everything that the loops below trust. Throws Error for a batch of another width (a narrower one
/// is read where no weight belongs to a place: reads_narrow_batches()), ids that are
/// not in the vocabulary, classes that there are not, lengths out of range, or padding where the
/// shape has no mask for it.
void check_batch(const TokenBatch&, const Config&, const RunShape&);

/// Fills the ids, the targets, what of a row is present, and padding in the masks, for the rows of
/// the batch from `first` on, as many as the program has. The mask of the config must stand in the
/// mask already; where it is causal it stays, since no token that counts looks at padding behind
/// it.
void fill_batch(const Program&, const TokenBatch&, std::int64_t first,
                std::span<float* const> memory);

/// The masks of the config (fill_masks()), for every row; all tokens are present.
void fill_own_mask(const Program&, std::span<float* const> memory);

/// The loss that is told of a run: that of the prediction alone, without what training adds to keep
/// foci apart or to spread the load of experts.
TensorId told_loss(const Program&);

/// What a run of a training program says of its rows.
struct BatchSum {
  double loss = 0;                        // told_loss()
  std::int64_t counted = 0, correct = 0;  // targets
  std::int64_t rows = 0, rows_correct = 0;
  std::vector<int> chosen = {};    // of classes, by row: the one with the largest logit
  Evaluation::Hidden hidden = {};  // its loss a sum
};

/// Adds up the losses that are counted (told_loss()). With `compare`, also whether the target
/// of each has the largest logit (the first of them, where several have it), and the classes that
/// are chosen.
BatchSum sum_batch(const Program&, std::span<float* const> memory, bool compare);

/// The mean loss of its hidden tokens; 0 without any.
double mean_hidden(const BatchSum&);
/// The sums as means.
Evaluation evaluation_of(BatchSum);

/// What dropout leaves out: a number for every cell of every input Program::dropout, made of the
/// seed, the step, the row of the step and the input's name alone.
struct DropoutDraw {
  double rate = 0;  // 0 ≤ rate < 1: the share that is left out
  std::uint64_t seed = 1;
  std::int64_t step = 0;
  std::int64_t row = 0;  // of the first row, counted over all batches of the step
};
void fill_dropout(const Program&, const DropoutDraw&, std::span<float* const> memory);
/// Of these inputs alone: the same numbers.
void fill_dropout(const Program&, std::span<const TensorId>, const DropoutDraw&,
                  std::span<float* const> memory);

/// The numbers of one of these inputs: cell i is left out (0) where
/// scatter(key + (first + i) · kDropoutStep) >> 11 is less than `limit`, else it is `kept`.
struct DropoutCells {
  std::uint64_t key = 0, first = 0, limit = 0;
  float kept = 1;
};
inline constexpr std::uint64_t kDropoutStep = 0xD1342543DE82EF95ull;
DropoutCells dropout_cells(const Program&, TensorId, const DropoutDraw&);

}  // namespace headlight
