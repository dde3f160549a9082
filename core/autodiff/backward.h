// Backward: the program run from its end to its beginning, each operation passing dL/d(its
// output) on to its inputs. L is the mean loss, or whatever the seeds say.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/autodiff/live_blocks.h"
#include "core/backends/backend.h"

namespace headlight {

/// How many targets of a training program's batch are counted.
std::int64_t counted_targets(const Program&, std::span<float* const> memory);

/// The mean of "loss" over the counted targets; 0 where none is counted.
double mean_loss(const Program&, std::span<float* const> memory);

/// The same of the cells of "targets" and "loss" themselves.
std::int64_t counted_targets(const Program&, std::span<const float> targets);
double mean_loss(const Program&, std::span<const float> targets, const float* losses);

/// What a backward pass finds in the gradients of parameters: nothing worth keeping, or those of
/// the backward passes before it, to which it adds (several small batches that count as one).
enum class ParameterGradients { kFresh, kAdded };

/// Which gradients can be looked at after a backward pass: all; or only those of parameters and
/// seeds, while those of activations share memory one after the other. That takes a fraction of the
/// memory, and most of what a backward pass touches stays in the cache.
enum class KeptGradients { kAll, kParameters };

/// dL/d(tensor) for every activation and every parameter of a program. Tensors that do not lead to
/// L have zeros, inputs have no gradient, and aliases share that of their source. Everything is
/// allocated when this is made; a backward pass allocates nothing.
class Backward {
 public:
  /// A backward pass from the loss of a training program. Throws UsageError where the program has
  /// none. With a fusion it is one for a backend that fuses, and what is_between() has no gradient.
  explicit Backward(std::shared_ptr<const Program>, KeptGradients = KeptGradients::kAll,
                    std::shared_ptr<const Fusion> = nullptr);
  /// A backward pass from these tensors, whose own gradients are given before each backward pass:
  /// see seed(). They must be activations; throws UsageError otherwise.
  Backward(std::shared_ptr<const Program>, const std::vector<TensorId>& seeds,
           KeptGradients = KeptGradients::kAll);

  Backward(Backward&&) = default;
  Backward& operator=(Backward&&) = default;

  const Program& program() const { return *program_; }

  /// Where the gradient that a seed starts from is to be written, before each backward pass: a
  /// backward pass from other seeds may add to it.
  std::span<float> seed(TensorId);
  /// Seeds "loss" so that L is the sum of the counted losses over `counted`; with counted =
  /// counted_targets() it is their mean. A shard of a batch gives the count of the whole batch.
  /// Everything is multiplied by `scale`.
  void seed_loss(std::span<float* const> memory, std::int64_t counted, double scale = 1);

  /// Runs it. `memory` is as a run left it.
  void run(Backend&, std::span<float* const> memory,
           ParameterGradients = ParameterGradients::kFresh);

  /// Only the calls [first, first + count) of calls(): one stretch after the other is a whole pass.
  void run_calls(Backend&, std::span<float* const> memory, std::size_t first, std::size_t count);

  /// "d.<name>" with the tensor's axes; data is null for inputs and for what is not kept.
  TensorView gradient(TensorId) const;
  /// By the tensor's name, with or without "d." before it; throws UsageError with the nearest
  /// names.
  TensorView gradient(std::string_view name) const;
  /// The gradients of all parameters in one piece, in order of their ids: to add up shards, to
  /// measure, to cut. Between tensors there may be zeros, which stay. parameter_at() is where one
  /// begins; programs that differ only in their batch have them at the same places.
  std::span<float> parameters() { return {arena_.data(), parameter_cells_}; }
  std::span<const float> parameters() const { return {arena_.data(), parameter_cells_}; }
  std::size_t parameter_at(TensorId) const;

  /// The calls of the backward pass, in its order: the last of the program first.
  std::span<const BackwardCall> calls() const { return calls_; }
  /// Where the gradients lie, by TensorId; null for inputs.
  std::span<float* const> gradients() const { return gradients_; }
  /// Bytes that the gradients take.
  double memory_bytes() const { return static_cast<double>(arena_.size()) * sizeof(float); }

 private:
  friend double activation_gradient_cells(std::shared_ptr<const Program>,
                                          std::shared_ptr<const Fusion>);
  Backward() = default;
  void plan(const std::vector<TensorId>& seeds);
  void lay_out(const std::vector<TensorId>& seeds);
  struct Layout {
    std::vector<std::size_t> offsets;  // by TensorId
    std::size_t end = 0, zeros = 0;
  };
  Layout find_layout(const std::vector<TensorId>& seeds);
  /// Where the gradient of each owner lies, and between which steps of the pass it is needed.
  std::vector<LiveBlock> blocks(const std::vector<TensorId>& seeds) const;

  std::shared_ptr<const Program> program_;
  bool is_between(TensorId id) const { return fusion_ && fusion_->is_between(id); }

  std::shared_ptr<const Fusion> fusion_;
  KeptGradients kept_{};
  std::vector<std::string> names_;  // by TensorId: "d.…"
  std::vector<TensorId> owners_;    // by TensorId: whose memory its gradient lies in
  std::vector<BackwardCall> calls_, adding_calls_;
  FloatBuffer arena_;  // parameters, activations, then zeros for what is not reached
  std::size_t parameter_cells_ = 0;
  std::vector<float*> gradients_;  // by TensorId
  std::vector<bool> shown_;        // by owner: is it there when the backward pass has ended?
};

/// Floats that a Backward of this fusion and KeptGradients::kParameters takes for the gradients of
/// activations. Allocates none of them.
double activation_gradient_cells(std::shared_ptr<const Program>, std::shared_ptr<const Fusion>);

}  // namespace headlight
