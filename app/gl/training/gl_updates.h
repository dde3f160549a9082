// What training needs beside the operations, as kernels: the loss of a batch, the norm of the
// gradients, and the updates. Only GlFigures comes back from the device.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "app/gl/compute/queue.h"
#include "app/gl/compute/tensors.h"
#include "core/train/data/batch_inputs.h"
#include "core/train/optim/optimizer.h"

namespace headlight {

/// What the kernels say of a step, in words of 32 bits as they lie on the device.
struct GlFigures {
  float loss = 0;  // the sum of the counted losses
  // The squares of all gradients (shaders/squares.glsl).
  float large = 0, middle = 0, small = 0, odd = 0;
  std::uint32_t correct = 0, rows_correct = 0;  // targets, and examples
  std::uint32_t unused = 0;

  /// √ of the sum of all squares; infinite or NaN where a gradient was.
  double norm() const;
};
inline constexpr std::int64_t kFigureWords = sizeof(GlFigures) / 4;

/// A tensor of floats on the device.
struct GlCells {
  unsigned buffer = 0;
  std::int64_t cells = 0;
};

/// Buffers that are called `figures` have room for GlFigures. Errors are those of GlQueue.
class GlUpdates {
 public:
  GlUpdates(const GlCalls&, const GlLimits&, const KernelTable&, GlPrograms&, GlQueue&);

  /// Writes what dropout leaves out, as fill_dropout() does.
  void draw_dropout(GlCells cells, const DropoutCells&);
  /// Adds to GlFigures::loss.
  void sum_loss(GlCells loss, unsigned figures);
  /// Adds to GlFigures::correct and rows_correct, of examples with `per_row` targets each.
  void count_hits(GlCells logits, GlCells targets, std::int64_t per_row, unsigned figures);
  /// Writes the squares of GlFigures.
  void measure(std::span<const GlCells> gradients, unsigned figures);

  void clip(GlCells gradient, float factor);
  /// One update of a parameter, as Optimizer makes it; `momentum` 0: none.
  void sgd(GlCells parameter, unsigned gradient, unsigned moment, float rate, float decay,
           float momentum);
  void adam(GlCells parameter, unsigned gradient, std::array<unsigned, 2> moments, const AdamStep&);

 private:
  void run_cells(Kernel, std::int64_t cells, std::initializer_list<unsigned> buffers,
                 std::initializer_list<GlUniform> uniforms);
  // By one group, or by so many.
  void run_sum(Kernel, std::initializer_list<unsigned> buffers,
               std::initializer_list<GlUniform> uniforms, std::int64_t groups = 1);
  std::int64_t groups_for(std::int64_t cells) const;

  const GlLimits& limits_;
  const KernelTable& table_;
  GlPrograms& programs_;
  GlQueue& queue_;
  GlTensors between_;  // what one kernel leaves for the next
};

}  // namespace headlight
