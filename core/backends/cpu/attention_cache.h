// Attention one position after the other: the keys and values of the positions before are kept, so
// that only the newest query is computed (a "KV cache").
#pragma once

#include <span>

#include "core/backends/cpu/rotary.h"
#include "core/graph/program.h"

namespace headlight::cpu {

class AttentionCache {
 public:
  /// `one`: a program of one position, whose attention this is; `context`: the most positions.
  AttentionCache(const Program& one, const FusedAttention&, std::int64_t context);

  /// The calls of the attention, as of position `at`; those before it were run. `memory` is that of
  /// the program, `mask` this query's row of it (0: allowed) or null. Allocates nothing.
  void run(std::span<float* const> memory, std::int64_t at, const float* mask);

 private:
  void keep(const float* k, const float* v, std::int64_t at);
  void weigh(const float* q, std::int64_t kv_head, std::int64_t at, const float* mask);

  FusedAttention attention_;
  OpParams turn_;  // of rotary positions
  RotaryAngles angles_;
  std::int64_t context_, heads_, kv_heads_, width_, v_width_;
  FloatBuffer keys_, values_;     // (kv_head, position, width), (kv_head, position, v_width)
  FloatBuffer turned_, weights_;  // (width), (position)
};

}  // namespace headlight::cpu
