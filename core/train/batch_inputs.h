// A batch as the inputs of a training program: ids, targets, what is padding, what dropout leaves
// out.
#pragma once

#include <cstdint>
#include <span>

#include "core/program.h"
#include "core/train/trainer.h"

namespace headlight {

/// Everything that the loops below trust. Throws Error for a batch of another width, ids that are
/// not in the vocabulary, classes that there are not, lengths out of range, or padding where the
/// shape has no mask for it.
void check_batch(const TokenBatch&, const Config&, const RunShape&);

/// Fills the ids, the targets, what of a row is present, and padding in the masks, for the rows of
/// the batch from `first` on, as many as the program has. The mask of the config must stand in the
/// mask already; where it is causal it stays, since no token that counts looks at padding behind
/// it.
void fill_batch(const Program&, const TokenBatch&, std::int64_t first,
                std::span<float* const> memory);

/// What dropout leaves out: a number for every cell of every input Program::dropout, made of the
/// seed, the step, the row of the step and the input's name alone.
struct DropoutDraw {
  double rate = 0;  // 0 ≤ rate < 1: the share that is left out
  std::uint64_t seed = 1;
  std::int64_t step = 0;
  std::int64_t row = 0;  // of the first row, counted over all batches of the step
};
void fill_dropout(const Program&, const DropoutDraw&, std::span<float* const> memory);

}  // namespace headlight
