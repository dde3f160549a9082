// Every operation on the device, forward and backward: which kernels it is made of, what they are
// given, and how many groups they run in.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "app/gl/compute/attention.h"
#include "core/graph/program.h"
#include "core/ops/op.h"

namespace headlight {

/// A call of a program with its tensors' shapes and buffers. Backward needs only the buffers that
/// backward_reads() names.
struct GlOpCall {
  GlOpCall(const Program&, const OpCall&);
  const OpCall& call;
  std::size_t inputs = 0;
  std::array<std::span<const Axis>, 4> axes;
  std::span<const Axis> out_axes;
  std::array<unsigned, 4> in{};
  unsigned out = 0;

  std::int64_t cells() const { return cell_count(out_axes); }
  std::int64_t size(std::size_t input, std::size_t axis) const { return axes[input][axis].size; }
  std::int64_t out_size(std::size_t axis) const { return out_axes[axis].size; }
  bool has_bias() const { return inputs > 2; }
  // Of attention: how many heads share one of keys or values, how many of those there are in all,
  // and the queries of all that share one, which follow each other.
  std::int64_t share() const { return heads_per_kv(axes[0], axes[1]); }
  std::int64_t kv_matrices() const { return size(1, 0) * size(1, 1); }
  std::int64_t kv_queries() const { return share() * size(0, 2); }
};

/// Buffers of gradients of a call: of its output, and of its inputs, 0 where it is not wanted.
struct GlOpGradients {
  unsigned d_out = 0;
  std::array<unsigned, 4> d_in{};
  std::array<bool, 4> adds{};  // to what is in d_in, else that is written over
};

/// What the gradient of an operation reads of its run.
struct GlReads {
  std::array<bool, 4> in{};
  bool out = false;
};
GlReads backward_reads(Op);

/// Of Op::kFusedAttention.
GlAttentionCall attention_call(const GlOpCall&);

class GlOps {
 public:
  GlOps(const GlLimits&, const KernelTable&, GlLauncher&);

  /// Can the device take tensors of these sizes, forward and backward?
  bool fits(const GlOpCall&) const;
  void forward(const GlOpCall&);
  void backward(const GlOpCall&, const GlOpGradients&);

 private:
  using Buffers = std::initializer_list<unsigned>;
  using Uniforms = std::initializer_list<GlUniform>;

  // An invocation for each of `cells`; a group for each row; a few columns a group; a tile of a
  // product, for each of `matrices`, a group.
  void run_cells(Kernel, std::int64_t cells, Buffers, Uniforms);
  void run_rows(Kernel, std::int64_t rows, std::int64_t columns, Buffers, Uniforms);
  void run_columns(Kernel, std::int64_t columns, Buffers, Uniforms);
  void run_product(Kernel, std::int64_t matrices, std::int64_t rows, std::int64_t columns, Buffers,
                   Uniforms);

  void forward_cells(const GlOpCall&);
  void forward_pooling(const GlOpCall&);
  void foci_penalty(const GlOpCall&);
  void convolution(const GlOpCall&);
  void forward_moves(const GlOpCall&);
  void forward_rows(const GlOpCall&);
  void forward_products(const GlOpCall&);
  void forward_distance(const GlOpCall&);
  struct GlMeeting {
    unsigned with = 0, into = 0;
    bool adds = false;
  };
  void meet_distances(Kernel, const GlOpCall&, unsigned x, const GlMeeting&);
  void sinusoid(const GlOpCall&);
  void rotary(const GlOpCall&, unsigned from, unsigned into, bool is_back, bool adds);

  void forward_experts(const GlOpCall&);
  void backward_experts(const GlOpCall&, const GlOpGradients&);
  void backward_expert_linear(const GlOpCall&, const GlOpGradients&);
  void backward_mix(const GlOpCall&, const GlOpGradients&);

  void forward_numbers(const GlOpCall&);
  void forward_heads(const GlOpCall&);
  void fused_attention(const GlOpCall&);
  void backward_fused(const GlOpCall&, const GlOpGradients&);
  void backward_heads(const GlOpCall&, const GlOpGradients&);
  void backward_numbers(const GlOpCall&, const GlOpGradients&);

  void backward_cells(const GlOpCall&, const GlOpGradients&);
  void backward_pooling(const GlOpCall&, const GlOpGradients&);
  void backward_foci(const GlOpCall&, const GlOpGradients&);
  void backward_convolution(const GlOpCall&, const GlOpGradients&);
  void backward_moves(const GlOpCall&, const GlOpGradients&);
  void backward_concat_rows(const GlOpCall&, const GlOpGradients&);
  void backward_embed(const GlOpCall&, const GlOpGradients&);
  void backward_rows(const GlOpCall&, const GlOpGradients&);
  void backward_norm(const GlOpCall&, const GlOpGradients&);
  void backward_linear(const GlOpCall&, const GlOpGradients&);
  void backward_project(const GlOpCall&, const GlOpGradients&);
  void backward_attention(const GlOpCall&, const GlOpGradients&);
  void backward_additive(const GlOpCall&, const GlOpGradients&);
  void backward_bias(const GlOpCall&, const GlOpGradients&);
  void backward_distance(const GlOpCall&, const GlOpGradients&);
  void backward_buckets(const GlOpCall&, const GlOpGradients&);
  void backward_shift(const GlOpCall&, const GlOpGradients&);

  // What fits() asks for.
  bool product_fits(const GlOpCall&) const;
  bool experts_fit(const GlOpCall&) const;
  static std::int64_t row_groups(const GlOpCall&);
  static std::int64_t distance_groups(const GlOpCall&);
  std::int64_t column_groups(const GlOpCall&) const;
  static std::int64_t scratch_cells(const GlOpCall&);

  const GlLimits& limits_;
  const KernelTable& table_;
  GlLauncher& launcher_;
};

}  // namespace headlight
