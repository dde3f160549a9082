// The memory that training takes: where the tensors lie that a step writes or reads, and how much
// it will be before any is asked for.
#pragma once

#include <span>
#include <vector>

#include "core/autodiff/checkpointing.h"
#include "core/graph/fusion.h"
#include "core/train/learner.h"

namespace headlight {

/// Offsets and sizes count floats. They are doubles, because more may be asked for than can be
/// counted.
struct ActivationLayout {
  std::vector<double> offsets;  // by TensorId, each on a 64-byte boundary; −1: has no place here
  double kept = 0;              // each tensor has its own memory
  double shared = 0;            // behind it: what segments take turns with
  double cells() const { return kept + shared; }
};

/// Inputs, and what the calls write; with `checkpointing` segments share what they alone have.
ActivationLayout lay_out_activations(const Program&, std::span<const OpCall> calls, const Fusion&,
                                     const Checkpointing* checkpointing);

/// Bytes that training takes at most, by what for.
struct TrainingMemory {
  double weights = 0;
  double gradients = 0;    // of the parameters: their sum, and each thread's own
  double moments = 0;      // of the optimizer
  double activations = 0;  // of the shards that run at the same time, and their gradients
  double saving = 0;       // while a save is written
  double total() const { return weights + gradients + moments + activations + saving; }
};

/// Bytes that training in batches of `rows` rows would take at most, with what a save of it needs:
/// asked before anything is allocated. `narrow`: batches come in all widths (batch_width()).
TrainingMemory training_memory(const Config&, const RunShape&, const TrainerOptions&,
                               std::int64_t rows, bool narrow = false);
double training_memory_needed(const Config&, const RunShape&, const TrainerOptions&,
                              std::int64_t rows, bool narrow = false);

/// Bytes of inputs and activations alone, of the shards that run at the same time: what
/// Trainer::activation_bytes() will be.
double kept_activation_bytes(const Config&, const RunShape&, const TrainerOptions&,
                             std::int64_t rows);

}  // namespace headlight
