// Optimizers: how gradients change parameters. SGD with momentum, Adam (Kingma and Ba 2015) and
// AdamW (Loshchilov and Hutter 2019), each as PyTorch defines it, so that losses can be laid beside
// PyTorch's.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/base/tensor.h"
#include "core/graph/config.h"
#include "core/graph/roles.h"
#include "core/io/array.h"

namespace headlight {

class ThreadPool;

enum class OptimizerKind { kSgd, kAdam, kAdamW };
/// "sgd", "adam", "adamw"
std::span<const Choice<OptimizerKind>> choices(OptimizerKind);

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kAdamW;
  double momentum = 0;                // sgd
  double beta1 = 0.9, beta2 = 0.999;  // adam, adamw
  double epsilon = 1e-8;              // adam, adamw: outside the square root
  double weight_decay = 0.01;         // sgd, adam: added to the gradient; adamw: decoupled
  bool decay_matrices_only = false;   // leave biases and norms alone (PyTorch does not)
  bool operator==(const OptimizerOptions&) const = default;
};

/// PyTorch's defaults: a weight decay of 0.01 for adamw, of 0 for the others.
OptimizerOptions default_options(OptimizerKind);

/// Throws UsageError for numbers out of range.
void validate(const OptimizerOptions&);

/// A parameter and its gradient, somewhere in memory; both must outlive the optimizer.
struct TrainedTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::span<float> value, gradient;
  ParameterKind kind = ParameterKind::kMatrix;
  bool frozen = false;  // it stays as it is, and no norm counts its gradient
};

/// √ of the sum of all squares, in double and in a fixed order.
double gradient_norm(std::span<const TrainedTensor>);

/// Shortens all gradients together where their norm is over `max_norm`: each is multiplied by
/// max_norm / (norm + 1e-6), as torch.nn.utils.clip_grad_norm_ does. Returns the norm before. A
/// norm that is NaN or infinite is returned and nothing is changed. `max_norm` of 0: measures only.
double clip_gradients(std::span<const TrainedTensor>, double max_norm);

/// The numbers of one update by adam or adamw, `step` counted from 1: see Optimizer::step().
struct AdamStep {
  float rate, root;   // rate / (1 − β1ᵗ), √(1 − β2ᵗ)
  float decay, kept;  // adam: λ and 1; adamw: 0 and 1 − rate · λ
  float beta1, rest1, beta2, rest2, epsilon;
};
AdamStep adam_step(const OptimizerOptions&, double rate, std::int64_t step, double decay);

class Optimizer {
 public:
  /// Throws UsageError (validate) and Error for spans that do not fit their shape.
  Optimizer(const OptimizerOptions&, std::vector<TrainedTensor>);

  /// One update of every parameter. With g the gradient, θ the parameter, λ the decay, t the step
  /// from 1:
  ///
  ///   sgd    g ← g + λθ;  b ← momentum · b + g;  θ ← θ − rate · b
  ///   adam   g ← g + λθ;  m ← β1·m + (1 − β1)·g;  v ← β2·v + (1 − β2)·g²
  ///          θ ← θ − rate / (1 − β1ᵗ) · m / (√v / √(1 − β2ᵗ) + ε)
  ///   adamw  θ ← (1 − rate · λ)·θ;  then as adam with λ = 0
  ///
  /// Allocates nothing. Denormals are flushed. The result does not depend on the pool.
  void step(double learning_rate, ThreadPool* pool = nullptr);

  // For who makes the same update elsewhere, on a graphics card.

  /// Counts a step; returns which one it is, from 1.
  std::int64_t count_step() { return ++steps_; }
  /// The weight decay of a tensor: that of the options, or 0.
  double decay(std::size_t tensor) const { return decays_[tensor] ? options_.weight_decay : 0; }
  /// How many moments each parameter has: 0 to 2.
  std::size_t moment_count() const { return moment_names().size(); }
  std::span<float> moment(std::size_t tensor, std::size_t which) {
    return {moments_[which].data() + places_[tensor], tensors_[tensor].value.size()};
  }

  const OptimizerOptions& options() const { return options_; }
  std::span<const TrainedTensor> tensors() const { return tensors_; }
  /// Steps taken since the beginning or reset().
  std::int64_t steps() const { return steps_; }
  /// Forgets all moments and steps.
  void reset();

  /// What a checkpoint keeps besides steps(): "NAME.momentum" where sgd has one, "NAME.exp_avg" and
  /// "NAME.exp_avg_sq" for the others, each of the parameter's shape. Valid while this lives.
  std::vector<NamedArray> state() const;
  /// Goes on from such a state. Throws Error, and changes nothing, when one is missing, of another
  /// shape, or unknown, or when `steps` is negative.
  void restore(std::int64_t steps, std::span<const NamedArray> state);

 private:
  struct Piece {
    std::size_t tensor = 0;
    std::int64_t first = 0, count = 0;  // cells of the tensor
    std::int64_t place = 0;             // of its first cell in the moments
  };
  void update(const Piece&, double learning_rate);
  std::vector<std::string_view> moment_names() const;

  OptimizerOptions options_;
  std::vector<TrainedTensor> tensors_;
  std::vector<std::int64_t> places_;  // by tensor: where its moments begin
  std::vector<bool> decays_;          // by tensor
  std::vector<Piece> pieces_;
  FloatBuffer moments_[2];
  std::int64_t steps_ = 0;
};

}  // namespace headlight
