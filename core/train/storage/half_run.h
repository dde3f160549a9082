// HalfRun: a training program run forward and back with its activations kept in 16 bits in between
// (core/autodiff/half_storage.h).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/autodiff/backward.h"
#include "core/autodiff/half_storage.h"
#include "core/base/half.h"
#include "core/train/data/batch_inputs.h"

namespace headlight {

/// What is kept in 16 bits of a training run of these calls, its backward pass, and when.
HalfStorage plan_half_storage(const Program&, const Fusion&, std::span<const OpCall> calls,
                              std::span<const BackwardCall> backward, const Checkpointing*);

class HalfRun {
 public:
  /// Whose numbers lie in `arena`, which is made large enough. Sets where `memory` has inputs and
  /// activations; parameters are set by set_parameters().
  HalfRun(std::shared_ptr<const Program>, HalfStorage, NumberFormat, FloatBuffer& arena,
          std::vector<float*>& memory);

  /// By parameter in the program's order: the weights that the next run reads.
  void set_parameters(std::span<float* const>);

  /// With `keeps` a backward pass may follow. Dropout leaves out what the draw says.
  void run(Backend&, const DropoutDraw&, bool keeps);
  /// Behind a run that keeps, and with the draw of that.
  void run_backward(Backend&, Backward&, const DropoutDraw&);

 private:
  void before(const StorageStep&, std::span<float* const> memory, const DropoutDraw&);
  std::span<float> cells(TensorId, std::span<float* const> memory) const;

  std::shared_ptr<const Program> program_;
  HalfStorage plan_;
  NumberFormat format_;
  float* arena_;
  std::vector<float*>& forward_;
  std::vector<float*> backward_;
};

}  // namespace headlight
