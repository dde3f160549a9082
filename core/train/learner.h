// Learner: batches in, better weights out. What a trainer is, whether the processor computes
// (trainer.h) or a graphics card.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/half.h"
#include "core/base/tensor.h"
#include "core/graph/config.h"
#include "core/graph/mask_blocks.h"
#include "core/graph/program.h"
#include "core/io/array.h"
#include "core/train/optim/optimizer.h"
#include "core/train/optim/schedule.h"
#include "core/train/storage/loss_scale.h"

namespace headlight {

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
  // Of a model with memory: each row goes on where that of the batch before ended.
  bool follows = false;
  // Config::token_head (rows, positions): what stands at hidden places; −1: not counted.
  std::vector<int> token_targets = {};
};

inline constexpr double kMaxDropout = 0.95;
/// What of a model keeps its weights: see keeps_weights(). Only the processor trains so.
inline constexpr int kNoneFrozen = -1, kAllFrozen = 1 << 20;

/// "float32", "float16", "bfloat16"
std::span<const Choice<NumberFormat>> choices(NumberFormat);

struct TrainerOptions {
  OptimizerOptions optimizer;
  Schedule schedule;
  double clip = 0;  // the largest norm of all gradients together; 0: any
  int shards = 8;   // pieces of a batch on the processor; another number gives other roundings
  int threads = 1;
  double dropout = 0;      // share of weights and of residual changes that each step leaves out
  std::uint64_t seed = 1;  // of what is left out
  // What a layer makes is not kept but made again in the backward pass (core/autodiff/
  // checkpointing.h): less memory, more time, the same bits.
  bool checkpointing = false;
  int frozen = kNoneFrozen;
  // How activations wait for the backward pass (core/autodiff/half_storage.h). In 16 bits a step
  // also computes with weights rounded to them; updates change the float32 weights themselves, and
  // those are what is measured and saved. float16: with a loss scale.
  NumberFormat storage = NumberFormat::kFloat32;
};

/// Does this parameter keep its weights: with 0 the embeddings do, with N also the first N layers,
/// with kAllFrozen everything before the head?
bool keeps_weights(const TensorSpec&, int frozen);

/// What one update was made from.
struct TrainStep {
  std::int64_t step = 0;  // counted from 0
  double loss = 0;        // mean over the counted targets, before the update
  double gradient_norm = 0;
  double learning_rate = 0;
  std::int64_t counted = 0;  // targets
  double loss_scale = 0;     // of storage in float16; 0: there is none
  double hidden_loss = 0;    // Config::token_head: the part of the loss that is of hidden tokens
  // The gradients were not finite, and the loss scale has fallen for it: nothing was updated.
  bool skipped = false;
  /// Did nothing change, because numbers were not finite and nothing is left to be done about it?
  bool broken() const {
    return !skipped && (!std::isfinite(loss) || !std::isfinite(gradient_norm));
  }
};

/// How well a batch is predicted.
struct Evaluation {
  double loss = 0;                // mean over the counted targets
  std::int64_t counted = 0;       // targets
  std::int64_t correct = 0;       // of them, where the target has the largest logit
  std::int64_t rows = 0;          // with a target that is counted
  std::int64_t rows_correct = 0;  // of them, where all of their targets have the largest logit
  std::vector<int> chosen = {};   // of classes, by row: the one with the largest logit
  // Config::token_head: of hidden tokens, whose mean loss is a part of `loss`; what counts above is
  // the classes alone.
  struct Hidden {
    double loss = 0;
    std::int64_t counted = 0, correct = 0;
    double accuracy() const {
      return counted > 0 ? static_cast<double>(correct) / static_cast<double>(counted) : 0;
    }
  };
  Hidden hidden = {};
  double class_loss() const { return loss - hidden.loss; }
  double accuracy() const {
    return counted > 0 ? static_cast<double>(correct) / static_cast<double>(counted) : 0;
  }
};

class Learner {
 public:
  virtual ~Learner();
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  /// Forward, backward, clip, update. Throws Error for a batch that is wider than the model's rows,
  /// ids that are not in the vocabulary, or nothing counted. Allocates nothing after the first
  /// batch of a size. Where the loss or the norm is not finite nothing is updated, and the result
  /// says so: see TrainStep::broken().
  TrainStep step(const TokenBatch& batch) { return step({&batch, 1}); }
  /// The same with several batches taken as one, one after another: gradient accumulation.
  virtual TrainStep step(std::span<const TokenBatch>) = 0;
  /// Forward only.
  virtual Evaluation evaluate(const TokenBatch&) = 0;
  /// What the rows of the last step remember (Config::memory), for a checkpoint: by layer, in the
  /// order of the layers; valid until the next step. Empty without memory and before a step.
  virtual std::vector<NamedArray> memory() const { return {}; }
  /// As memory() gave it. Throws Error for what does not fit the model.
  virtual void restore_memory(std::span<const NamedArray>) {}
  /// dL/d(parameter) as the last step() found it, after clipping. Valid until the next step.
  virtual std::span<const float> gradient(std::size_t parameter) const = 0;

  // Weights and moments lie where the updates are made. Asking for them brings the newest here,
  // and what is written here counts from the next step on: so ask again after each step.

  /// By parameter in the program's order. They may be written between steps.
  std::span<Tensor> parameters();
  std::span<const Tensor> parameters() const;
  Optimizer& optimizer();
  const Optimizer& optimizer() const;

  TrainerOptions& options() { return options_; }
  const TrainerOptions& options() const { return options_; }
  /// Of storage in float16; a run that goes on takes it along.
  LossScale& loss_scale() { return loss_scale_; }
  const LossScale& loss_scale() const { return loss_scale_; }
  const RunShape& shape() const { return shape_; }
  std::int64_t vocab() const { return shape_.vocab; }
  std::int64_t positions() const { return shape_.positions; }
  /// Numbers in all parameters.
  std::int64_t parameter_count() const;
  /// The graphics card that computes; empty: the processor does.
  virtual std::string device() const { return {}; }
  /// What the graphics card could not take, so that the processor ran it: "scores (head 4, …)".
  virtual std::vector<std::string> fallbacks() const { return {}; }
  /// Blocks of scores that attention in one piece computed in the last step, and those there were.
  virtual BlockCount blocks() const { return {}; }
  /// Bytes that this object holds: weights, gradients, moments, activations.
  virtual std::size_t memory_bytes() const = 0;

 protected:
  /// Puts the parameters in order. Throws UsageError (validate) and Error for parameters that are
  /// missing, unknown or of another shape.
  Learner(const Config&, const RunShape&, std::vector<Tensor> parameters, const TrainerOptions&);
  /// By parameter, where its gradient will be.
  void make_optimizer(std::span<const std::span<float>> gradients);
  /// Checks the batches, and says what of the step is known before it.
  TrainStep begin(std::span<const TokenBatch>) const;

  Config config_;
  RunShape shape_;  // of a batch of one row
  TrainerOptions options_;
  LossScale loss_scale_;
  mutable std::vector<Tensor> parameters_;
  std::vector<ParameterKind> parameter_kinds_;  // of parameters_, one by one
  std::vector<bool> frozen_;                    // the same
  std::unique_ptr<Optimizer> optimizer_;

 private:
  // Copies the newest weights into parameters_, and moments into *optimizer_.
  virtual void bring_parameters() const {}
  virtual void bring_moments() const {}
};

/// Several batches, one after the other, as one, its loss the mean per target that counts. Throws
/// as Learner::evaluate.
Evaluation evaluate_all(Learner&, std::span<const TokenBatch>);

/// Makes who learns, on the thread that will use it.
using LearnerFactory = std::function<std::unique_ptr<Learner>(
    const Config&, const RunShape&, std::vector<Tensor> parameters, const TrainerOptions&)>;

}  // namespace headlight
