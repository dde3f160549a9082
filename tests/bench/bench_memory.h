// What gradient checkpointing and storage in 16 bits save of memory and cost of time: printed by
// `headlight bench memory`.
#pragma once

#include <vector>

#include "tests/bench/bench_core.h"

namespace headlight {

/// Trains a model of 8 layers without and with each of them, in turns, `rounds` of each. The bytes
/// are those of the activations and inputs of all shards under way.
std::vector<BenchRow> bench_memory(int threads, int rounds = 11);

}  // namespace headlight
