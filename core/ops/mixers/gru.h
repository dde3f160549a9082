// The gates of a gated recurrent unit: numbers on the way to a state that are no cells themselves.
#pragma once

#include "core/ops/mixers/recurrent.h"

namespace headlight {

struct GruGates {
  double reset = 0;        // r: how much of the state before the candidate hears
  double update = 0;       // z: how much of the state before stays
  double past = 0;         // what the candidate would hear of it, were r 1
  double before_tanh = 0;  // p: what the candidate is the tanh of
  double candidate = 0;    // n: what the rest of the state is renewed to
};

/// Of the state's cell at `index` (batch item, row, number), from a run of the operation.
GruGates gru_gates(const OpArgs&, std::span<const std::int64_t> index);

}  // namespace headlight
