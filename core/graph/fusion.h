// Fusion: which calls of a program may run as one, where nobody looks at the tensors between them.
// A training run does so; the trace, which shows every tensor, does not.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/program.h"

namespace headlight {

/// The calls from the queries, keys and values of all heads to what the heads found, which follow
/// each other in the program. One head's scores then stay in the first-level cache, keys that a
/// stretch of queries may not look at are left out, and no head is ever moved.
struct FusedAttention {
  std::vector<int> calls;  // places in Program::calls, ascending
  // (batch, position, head · d_head), and the calls and inputs that pass their gradients on.
  TensorId q = -1, k = -1, v = -1;
  int q_call = -1, k_call = -1, v_call = -1;
  int k_input = 0, v_input = 0;
  TensorId mask = -1;  // (batch, query, key), −1: none
  // Of rotary positions: what q and k become, each laid out like them; −1: they stay as they are.
  TensorId turned_q = -1, turned_k = -1;
  int turn = -1;          // the call that turns q, −1: none
  TensorId pattern = -1;  // (batch, head, query, key): the only tensor between that is kept
  TensorId dropout = -1;  // what the pattern is multiplied by, −1: nothing
  TensorId out = -1;      // (batch, query, head · d_head)
  float factor = 1;       // of the scores
  double temperature = 1;
};

/// Does attention whose pattern goes through dropout count as a group? The processor's kernels say
/// no. Those of the graphics card say yes, but know neither rotary positions nor shared heads.
enum class FusedDropout : bool { kNo, kYes };

/// Holds for every program of the same Config, whatever its batch and length.
class Fusion {
 public:
  explicit Fusion(const Program&, FusedDropout = FusedDropout::kNo);

  std::span<const FusedAttention> attentions() const { return attentions_; }
  /// The group whose last call writes this tensor; null for any other.
  const FusedAttention* attention(TensorId out) const;
  /// A tensor that is read within its group only: neither it nor its gradient is ever written, but
  /// for the pattern.
  bool is_between(TensorId id) const { return between_[static_cast<std::size_t>(id)]; }
  /// Does a run of a backend that fuses neither write nor read this tensor?
  bool is_left_out(TensorId id) const;
  /// Is the call that writes `out` an activation function whose input nobody reads again? Then its
  /// slope takes the input's place, and the walk backwards need not compute it.
  bool keeps_slope(TensorId out) const { return keeps_slope_[static_cast<std::size_t>(out)]; }

 private:
  std::vector<FusedAttention> attentions_;
  std::vector<bool> between_, keeps_slope_;  // by TensorId
};

}  // namespace headlight
