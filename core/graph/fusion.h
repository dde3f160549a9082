// Fusion: which calls of a program may run as one, where nobody looks at the tensors between them.
// A training run does so; the trace, which shows every tensor, does not. One head's scores then
// stay in the first-level cache, blocks of scores that the mask forbids are left out, and no head
// is ever moved.
#pragma once

#include <span>
#include <vector>

#include "core/graph/mask_blocks.h"
#include "core/graph/program.h"

namespace headlight {

/// Whose kernels run the groups. The processor's turn the rows of rotary positions themselves, but
/// do not drop anything of a pattern: such attention is no group. The graphics card's drop, and
/// read the rows that other calls have turned: what those make is not between.
enum class FusedBy : bool { kProcessor, kCard };

/// Holds for every program of the same Config, whatever its batch and length.
class Fusion {
 public:
  explicit Fusion(const Program&, FusedBy = FusedBy::kProcessor,
                  ForbiddenBlocks = ForbiddenBlocks::kSkipped);

  std::span<const FusedAttention> attentions() const { return attentions_; }
  ForbiddenBlocks forbidden_blocks() const { return forbidden_; }
  /// The group whose last call writes this tensor; null for any other.
  const FusedAttention* attention(TensorId out) const;
  /// A tensor that is read within its group only: neither it nor its gradient is ever written, but
  /// for the pattern.
  bool is_between(TensorId id) const { return between_[static_cast<std::size_t>(id)]; }
  /// Does a run of a backend that fuses neither write nor read this tensor?
  bool is_left_out(TensorId id) const;
  /// Is the call that writes `out` an activation function (OpInfo::keeps_slope) whose input, which
  /// a product made, nobody reads again? Then its slope takes the input's place, and the backward
  /// pass backwards need not compute it.
  bool keeps_slope(TensorId out) const { return keeps_slope_[static_cast<std::size_t>(out)]; }

 private:
  ForbiddenBlocks forbidden_;
  std::vector<FusedAttention> attentions_;
  std::vector<bool> between_, keeps_slope_;  // by TensorId
};

}  // namespace headlight
