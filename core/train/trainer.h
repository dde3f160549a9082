// Trainer: the learner on the processor. A batch is cut into a fixed number of shards; each
// thread runs the same program on its shards, and the shards' gradients are added up in their
// order. So the result is the same, bit for bit, on any number of threads.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/graph/fusion.h"
#include "core/run/segment_memory.h"
#include "core/train/data/batch_inputs.h"
#include "core/train/learner.h"
#include "core/train/optim/gradient_sum.h"
#include "core/train/training_memory.h"

namespace headlight {

class ThreadPool;

/// On the processor. The last rows of a batch that the shards do not divide are spread over the
/// first shards.
class Trainer final : public Learner {
 public:
  /// A model for rows of `positions` tokens. `parameters`: by the names of the program, in any
  /// order. Throws UsageError (validate) and Error for parameters that are missing, unknown or of
  /// another shape.
  Trainer(const Config&, std::int64_t vocab, std::int64_t positions, std::vector<Tensor> parameters,
          const TrainerOptions&);
  /// The same for any form of model: `shape` says its classes, its source tokens, and whether rows
  /// may be padded; its batch does not matter.
  Trainer(const Config&, const RunShape& shape, std::vector<Tensor> parameters,
          const TrainerOptions&);
  ~Trainer() override;

  using Learner::step;
  TrainStep step(std::span<const TokenBatch>) override;
  /// Of a model with memory: a batch that follows remembers the one evaluated before it; training
  /// has a memory of its own.
  Evaluation evaluate(const TokenBatch&) override;
  std::vector<NamedArray> memory() const override;
  void restore_memory(std::span<const NamedArray>) override;
  std::span<const float> gradient(std::size_t parameter) const override;
  std::size_t memory_bytes() const override;
  /// Bytes that a step cannot do without: weights, gradients, moments, and the activations kept for
  /// the shards that run at the same time.
  std::size_t needed_bytes() const;
  /// Of them the activations and inputs.
  std::size_t activation_bytes() const;
  BlockCount blocks() const override { return blocks_; }

 private:
  class Worker;
  void set_sizes(std::int64_t rows);
  void meet_sizes(const TokenBatch&);
  BatchSum run_shards(const TokenBatch&, bool backward, std::int64_t counted_in_all, bool fresh);
  std::size_t model_bytes() const;
  // Memories that take turns: what a batch reads, and what it leaves.
  struct Memories {
    SegmentMemory now, next;
  };
  const SegmentMemory& begin_segment(Memories&, const TokenBatch&);
  void round_weights();
  // Those that a step computes with, or the weights themselves: by parameter.
  std::span<float* const> weights_read(bool in_step) const {
    return in_step && !rounded_weights_.empty() ? rounded_weights_ : weights_;
  }
  double scale() const {
    return options_.storage == NumberFormat::kFloat16 ? loss_scale_.scale : 1;
  }
  const std::shared_ptr<const Fusion>& fusion(std::int64_t remembered) const {
    return remembered > 0 ? fusion_with_memory_ : fusion_;
  }

  std::shared_ptr<const Fusion> fusion_, fusion_with_memory_;
  Memories training_, evaluation_;
  FloatBuffer rounded_;  // all weights, in 16 bits' precision; empty for float32
  std::vector<float*> weights_, rounded_weights_;  // by parameter
  GradientSum gradient_;                           // of all parameters, as Backward lays them out
  std::vector<BatchSum> shard_sum_;
  std::vector<BlockCount> shard_blocks_;
  BlockCount blocks_;                      // of the last step
  std::vector<std::int64_t> shard_first_;  // row; one more entry than shards
  std::int64_t rows_before_ = 0;           // of this step's batches before this one
  // A shard: its rows, how many it remembers of each, its tokens and source tokens.
  using ShardSize = std::array<std::int64_t, 4>;
  std::vector<ShardSize> sizes_met_;
  std::unique_ptr<ThreadPool> pool_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace headlight
