// One head's attention in one piece, on one thread: block by block of scores, without the blocks
// that the mask forbids (mask_blocks.h).
#pragma once

#include <array>
#include <cstdint>

#include "core/backends/cpu/kernels.h"
#include "core/base/tensor.h"
#include "core/graph/mask_blocks.h"

namespace headlight::cpu {

/// One matrix of scores, and what belongs to it.
struct AttentionHead {
  const float *q, *k, *v, *mask;                          // `mask` may be null
  std::int64_t q_stride, k_stride, v_stride, out_stride;  // from one row to the next
  float* pattern;                                         // null: none is kept
  float* out;
  std::int64_t queries, keys, width, v_width;
  float factor;
  double temperature;
  const MaskBlocks* blocks;
  std::int64_t item;  // of the batch
  bool follows;       // another head that reads the same keys and values came before
  const float* d_out;
  std::array<kernels::Into, 3> d_in;
};

/// Its scratch memory grows with the keys. Allocates nothing when run again with the same sizes.
class HeadAttention {
 public:
  /// Writes the result, and the pattern where it is kept: else there is never more of it than
  /// kScoreBlock rows.
  void run(const AttentionHead&);
  /// After a run that kept the pattern.
  void run_backward(const AttentionHead&);
  /// Without a pattern: block by block its weights are made again. Adds to all of d_in, whatever
  /// they say.
  void run_backward_again(const AttentionHead&);

 private:
  struct Turned {  // rows of keys or values, transposed
    const float* cells;
    std::int64_t stride;
  };
  void find_weights(const AttentionHead&, std::int64_t i, const Turned& k, float* pattern);
  void find_score_gradients(const AttentionHead&, std::int64_t i, const Turned& v,
                            const float* pattern, float* d_scores);
  void multiply_rows(const kernels::Product&, const AttentionHead&, bool of_queries);
  void sum_runs(const kernels::Product&, const BlockRow&);
  void begin_part(kernels::Product&);
  void end_part(kernels::Product&, const kernels::Product& all) const;
  void multiply(const kernels::Product&);
  float* scratch(std::int64_t cells);

  FloatBuffer part_sum_;  // of a part of a sum with gaps
  FloatBuffer scratch_, product_scratch_ = FloatBuffer(kernels::kScratchFloats);
};

}  // namespace headlight::cpu
