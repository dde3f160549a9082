// What it saves not to compute the blocks of scores that a mask forbids: printed by `headlight
// bench`.
#pragma once

#include <vector>

#include "tests/bench/bench_core.h"

namespace headlight {

/// Attention in one piece as training runs it, forward and backward on one thread, over 1,024
/// tokens, under a local window of 64 and other masks: once without the forbidden blocks and once
/// with them, in turns. Takes some seconds.
std::vector<BenchRow> bench_sparse();

}  // namespace headlight
