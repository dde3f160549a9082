// Attention in one piece, for training (see fusion.h): one head after the other, on one thread.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "core/backends/cpu/heads/head_attention.h"
#include "core/backends/cpu/rotary.h"
#include "core/graph/fusion.h"

namespace headlight::cpu {

class AttentionRunner {
 public:
  explicit AttentionRunner(RotaryAngles& angles) : angles_(angles) {}
  /// Before the calls of a run: what the masks allow. A backward pass goes by the run before it.
  void begin_run(const Program&, const Fusion&, std::span<float* const> memory);
  void run(const Program&, const FusedAttention&, std::span<float* const> memory);
  /// `d_in`: where dL/dq, dL/dk and dL/dv go; no cells where not wanted.
  void run_backward(const Program&, const FusedAttention&, std::span<float* const> memory,
                    const float* d_out, const std::array<kernels::Into, 3>& d_in);
  /// Blocks of scores that run() has computed since begin_run(), and those there were.
  const BlockCount& count() const { return count_; }

 private:
  /// What a mask of the program allows.
  struct Allowed {
    TensorId mask = -1;
    std::int64_t queries = 0, keys = 0;
    MaskBlocks blocks;
  };

  const MaskBlocks& allowed(TensorId mask, std::int64_t queries, std::int64_t keys) const;
  template <class F>
  void for_heads(const Program&, const FusedAttention&, std::span<float* const> memory, F&&);
  /// Rows of queries or keys of all heads, each head's part turned by its row's position.
  void turn(const Program&, const FusedAttention&, TensorId rows, const float* from, kernels::Into,
            bool back);

  RotaryAngles& angles_;
  std::vector<Allowed> allowed_;
  BlockCount count_;
  HeadAttention head_;
  FloatBuffer d_turned_;  // dL/d of turned queries, then of turned keys
};

}  // namespace headlight::cpu
