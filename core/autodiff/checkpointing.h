// Gradient checkpointing (Chen et al. 2016, https://arxiv.org/abs/1604.06174). Of a layer only what
// is read elsewhere is kept. What else it makes lies in memory that all layers take turns with, and
// is made again before the backward pass comes to the layer: the same bits from the same numbers.
#pragma once

#include <span>
#include <vector>

#include "core/backends/backend.h"

namespace headlight {

/// Calls that follow each other: those of one layer, or those between two layers.
struct Segment {
  std::vector<OpCall> calls;
  std::vector<OpCall> again;             // of them those that its gradients need again
  std::vector<TensorId> drawn;           // what dropout leaves out in it, and nowhere else
  std::size_t first_back = 0, back = 0;  // its calls of the backward pass: the first, how many
  bool takes_turns = false;              // has it tensors in the shared memory?
};

class Checkpointing {
 public:
  /// `calls`: those of a run, in the program's order; `backward`: of its backward pass. Of a
  /// backend that fuses.
  Checkpointing(const Program&, const Fusion&, std::span<const OpCall> calls,
                std::span<const BackwardCall> backward);

  /// In the order of a run.
  std::span<const Segment> segments() const { return segments_; }
  /// The segment that has this tensor to itself; -1: it is kept.
  int segment_of(TensorId id) const { return owner_[static_cast<std::size_t>(id)]; }

 private:
  void find_owners(const Program&);
  void find_again(const Program&, const Fusion&, Segment&) const;

  std::vector<Segment> segments_;
  std::vector<int> owner_;  // by TensorId
};

}  // namespace headlight
