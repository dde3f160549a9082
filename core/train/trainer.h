// Trainer: batches in, better weights out. A batch is cut into a fixed number of shards; each
// thread runs the same program on its shards, and the shards' gradients are added up in their
// order. So the result is the same, bit for bit, on any number of threads.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/config.h"
#include "core/fusion.h"
#include "core/program.h"
#include "core/tensor.h"
#include "core/train/gradient_sum.h"
#include "core/train/optimizer.h"
#include "core/train/schedule.h"

namespace headlight {

class ThreadPool;

/// Rows of token ids and what should come out of them; row-major.
struct TokenBatch {
  std::int64_t rows = 0, positions = 0;
  std::vector<int> tokens;   // (rows, positions)
  std::vector<int> targets;  // (rows, positions), of classes (rows); −1: not counted
  // How many tokens a row has before its padding; empty: as many as positions.
  std::vector<int> lengths = {};
  // Of an encoder-decoder, what the encoder reads: (rows, sources), and as above.
  std::int64_t sources = 0;
  std::vector<int> source = {}, source_lengths = {};
};

inline constexpr double kMostDropout = 0.95;

struct TrainerOptions {
  OptimizerOptions optimizer;
  Schedule schedule;
  double clip = 0;  // the largest norm of all gradients together; 0: any
  int shards = 8;   // pieces of a batch; another number gives other roundings
  int threads = 1;
  double dropout = 0;      // share of weights and of residual changes that each step leaves out
  std::uint64_t seed = 1;  // of what is left out
};

/// What one update was made from.
struct TrainStep {
  std::int64_t step = 0;  // counted from 0
  double loss = 0;        // mean over the counted targets, before the update
  double gradient_norm = 0;
  double learning_rate = 0;
  std::int64_t counted = 0;  // targets
};

/// How well a batch is predicted.
struct Evaluation {
  double loss = 0;                // mean over the counted targets
  std::int64_t counted = 0;       // targets
  std::int64_t correct = 0;       // of them, where the target has the largest logit
  std::int64_t rows = 0;          // with a target that is counted
  std::int64_t rows_correct = 0;  // of them, where all of their targets have the largest logit
};

class Trainer {
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
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Forward, backward, clip, update. The last rows of a batch that the shards do not divide are
  /// spread over the first shards. Throws Error for a batch of another width, ids that are not in
  /// the vocabulary, or nothing counted. Allocates nothing after the first batch of a size. Where
  /// the loss or the norm is not finite nothing is updated, and the result says so.
  TrainStep step(const TokenBatch& batch) { return step({&batch, 1}); }
  /// The same with several batches taken as one, one after another: gradient accumulation.
  TrainStep step(std::span<const TokenBatch>);
  /// Forward only.
  Evaluation evaluate(const TokenBatch&);
  /// dL/d(parameter) as the last step() found it, after clipping.
  std::span<const float> gradient(std::size_t parameter) const;

  /// By parameter in the program's order. They may be written between steps.
  std::span<Tensor> parameters() { return parameters_; }
  std::span<const Tensor> parameters() const { return parameters_; }
  Optimizer& optimizer() { return *optimizer_; }
  const Optimizer& optimizer() const { return *optimizer_; }
  TrainerOptions& options() { return options_; }
  const RunShape& shape() const { return shape_; }
  std::int64_t vocab() const { return shape_.vocab; }
  std::int64_t positions() const { return shape_.positions; }
  /// Bytes that this object holds: weights, gradients, moments, activations.
  std::size_t memory_bytes() const;
  /// Bytes that a step cannot do without: weights, gradients, moments, and the activations kept for
  /// the shards that run at the same time.
  std::size_t needed_bytes() const;

 private:
  class Worker;
  struct ShardSum {  // what a shard adds to the batch's figures
    double loss = 0;
    std::int64_t counted = 0, correct = 0;
    std::int64_t rows = 0, rows_correct = 0;
  };
  void set_sizes(std::int64_t rows);
  void meet_sizes(const TokenBatch&);
  ShardSum run_shards(const TokenBatch&, bool backward, std::int64_t counted_in_all, bool fresh);
  std::size_t model_bytes() const;

  Config config_;
  RunShape shape_;
  TrainerOptions options_;
  std::vector<Tensor> parameters_;
  std::shared_ptr<const Fusion> fusion_;
  GradientSum gradient_;  // of all parameters, as Backward lays them out
  std::vector<ShardSum> shard_sum_;
  std::vector<std::int64_t> shard_first_;  // row; one more entry than shards
  std::int64_t rows_before_ = 0;           // of this step's batches before this one
  std::vector<std::int64_t> sizes_met_;    // rows of a shard
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<ThreadPool> pool_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace headlight
