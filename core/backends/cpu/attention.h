// Attention in one piece, for training (see fusion.h): one matrix of scores after the other, on one
// thread, queries in blocks, and of the keys only the stretch that a block may look at.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "core/backends/cpu/kernels.h"
#include "core/backends/cpu/rotary.h"
#include "core/graph/fusion.h"

namespace headlight::cpu {

class AttentionRunner {
 public:
  explicit AttentionRunner(RotaryAngles& angles) : angles_(angles) {}
  /// Before the calls of a run: what the masks allow. A backward pass goes by the run before it.
  void begin_run(const Program&, std::span<const FusedAttention>, std::span<float* const> memory);
  void run(const Program&, const FusedAttention&, std::span<float* const> memory);
  /// `d_in`: where dL/dq, dL/dk and dL/dv go; no cells where not wanted.
  void run_backward(const Program&, const FusedAttention&, std::span<float* const> memory,
                    const float* d_out, const std::array<kernels::Into, 3>& d_in);

 private:
  /// Queries and keys that come into question for each other.
  struct Stretch {
    std::int64_t begin = 0, end = 0;
    std::int64_t size() const { return end - begin; }
  };
  /// What a mask allows, block by block: the keys for each block of queries and the other way
  /// round, for one batch item after the other.
  struct Allowed {
    TensorId mask = -1;
    std::int64_t queries = 0, keys = 0;
    std::vector<Stretch> keys_of, queries_of;
  };
  struct Head;  // one matrix of scores, and what belongs to it

  const Allowed& allowed(TensorId mask, std::int64_t queries, std::int64_t keys) const;
  static void find_allowed(Allowed&, std::int64_t batch, const float* mask);
  template <class F>
  void for_heads(const Program&, const FusedAttention&, std::span<float* const> memory, F&&);
  /// Rows of queries or keys of all heads, each head's part turned by its row's position.
  void turn(const Program&, const FusedAttention&, TensorId rows, const float* from, kernels::Into,
            bool back);
  void run_head(const Head&);
  void run_head_backward(const Head&);
  void find_score_gradients(const Head&, const float* v_turned, float* d_scores,
                            std::int64_t stride);
  void multiply_blocks(const kernels::Product&, const Stretch*);
  void multiply(const kernels::Product&);
  float* scratch(std::int64_t cells);

  RotaryAngles& angles_;
  std::vector<Allowed> allowed_;
  FloatBuffer d_turned_;  // dL/d of turned queries, then of turned keys
  FloatBuffer scratch_, product_scratch_ = FloatBuffer(kernels::kScratchFloats);
};

}  // namespace headlight::cpu
