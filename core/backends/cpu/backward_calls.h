// The backward pass of the cpu backend.
#pragma once

#include <span>

#include "core/backends/backend.h"
#include "core/backends/cpu/attention.h"
#include "core/backends/cpu/distance/distances.h"
#include "core/backends/cpu/heads/fused_calls.h"
#include "core/backends/cpu/pieces.h"

namespace headlight::cpu {

/// A call of the backward pass: what its run left, the gradient of its output, and where those of
/// its inputs go.
struct GradientCall {
  Call c;
  const float* d_out = nullptr;
  std::array<kernels::Into, 4> d_in;  // no cells: not wanted
};

/// Each gradient is computed whole by one piece, or summed from pieces in a fixed order, so any
/// number of threads gives the same bits.
class BackwardPass {
 public:
  /// `fusion` may be null.
  BackwardPass(Pieces& pieces, const Fusion* fusion, AttentionRunner& attention, FusedCalls& fused,
               RotaryAngles& angles, Distances& distances)
      : pieces_(pieces),
        fusion_(fusion),
        attention_(attention),
        fused_(fused),
        angles_(angles),
        distances_(distances) {}
  /// See Backend::run_backward.
  void run(const Program&, std::span<const BackwardCall>, std::span<float* const> memory,
           std::span<float* const> gradients);

 private:
  bool run_fused(const Program&, std::span<const BackwardCall>, std::span<float* const> memory,
                 std::span<float* const> gradients);
  void run_call(const GradientCall&);
  void linear_transposed(const GradientCall&);
  void linear(const GradientCall&);
  void project(const GradientCall&);
  void project_weights(const GradientCall&, const kernels::Product& forward, std::int64_t heads);
  void operands(const GradientCall&, const ProductSeries& forward);
  void additive_scores(const GradientCall&);
  void layer_norm(const GradientCall&);
  void cell_by_cell(const GradientCall&);
  void row_by_row(const GradientCall&);
  void rotary(const GradientCall&);
  void add(const GradientCall&);
  void multiply(const GradientCall&);
  void focus_scores(const GradientCall&);
  void pool(const GradientCall&);
  void foci_penalty(const GradientCall&);
  void embed(const GradientCall&);
  void learned_position(const GradientCall&);
  void move_rows_back(const GradientCall&);
  void concat_rows(const GradientCall&);
  void bias(const float* d, std::int64_t rows, std::int64_t columns, kernels::Into);
  float* scratch(std::int64_t cells);

  Pieces& pieces_;
  const Fusion* fusion_;
  AttentionRunner& attention_;
  FusedCalls& fused_;
  RotaryAngles& angles_;
  Distances& distances_;
  FloatBuffer scratch_;  // grows to what the largest call asks for
};

}  // namespace headlight::cpu
