// Half-precision storage in training (Micikevicius et al. 2018, https://arxiv.org/abs/1710.03740):
// calls compute with floats as ever, but what the backward pass reads is kept in 16 bits from its
// last use on the way forward to its first use on the way back. In between, and for all that the
// backward pass does not read, its room belongs to others.
#pragma once

#include <span>
#include <vector>

#include "core/autodiff/checkpointing.h"
#include "core/backends/backend.h"

namespace headlight {

/// Calls that run at once, and what is done about them. Either of a run (or made again for a
/// segment), or of the backward pass.
struct StorageStep {
  std::vector<TensorId> drawn;           // before: what dropout leaves out
  std::vector<TensorId> unpacked;        // before: from 16 bits
  std::vector<OpCall> calls;             // at most one
  std::size_t first_back = 0, back = 0;  // calls of the backward pass: the first, how many
  std::vector<TensorId> packed;          // behind: into 16 bits
};

class HalfStorage {
 public:
  /// `calls` and `backward` as for Checkpointing; null: every activation is kept. `read_at_end`:
  /// what others read between the two passes. Of a backend that fuses.
  HalfStorage(const Program&, const Fusion&, std::span<const OpCall> calls,
              std::span<const BackwardCall> backward, const Checkpointing*,
              std::span<const TensorId> read_at_end);

  std::span<const StorageStep> forward() const { return forward_; }
  std::span<const StorageStep> backward() const { return backward_; }

  /// Where a tensor lies, in floats from the beginning of one memory; −1: nowhere. Its room on the
  /// way forward, on the way back, and that of its 16 bits, two to a float.
  struct Places {
    std::int64_t forward = -1, backward = -1, halves = -1;
  };
  const Places& places(TensorId id) const { return places_[static_cast<std::size_t>(id)]; }
  /// Floats that all of it takes.
  std::size_t cells() const { return cells_; }

 private:
  class Planner;
  std::vector<StorageStep> forward_, backward_;
  std::vector<Places> places_;  // by TensorId
  std::size_t cells_ = 0;
};

}  // namespace headlight
