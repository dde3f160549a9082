// The operation fused_attention: heads of keys and values are pieces, each with all the queries
// that read them.
#pragma once

#include <array>
#include <vector>

#include "core/backends/cpu/heads/head_attention.h"
#include "core/backends/cpu/pieces.h"

namespace headlight::cpu {

class FusedCalls {
 public:
  explicit FusedCalls(Pieces& pieces) : pieces_(pieces) {}
  void begin_run() { count_ = {}; }
  void run(const Call&);
  /// `d_in`: dL/dq, dL/dk, dL/dv; no cells where not wanted.
  void run_backward(const Call&, const float* d_out, const std::array<kernels::Into, 4>& d_in);
  /// Blocks of scores that run() has computed since begin_run(), and those there were.
  const BlockCount& count() const { return count_; }

 private:
  /// Calls f(head, its scratch) for each head of queries. Of those that share a head of keys one
  /// comes after the other.
  template <class F>
  void for_heads(const Call&, F&&);

  Pieces& pieces_;
  MaskBlocks blocks_;
  BlockCount count_;
  std::vector<HeadAttention> heads_;
};

}  // namespace headlight::cpu
