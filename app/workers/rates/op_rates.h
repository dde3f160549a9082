// How fast this machine runs operations: each one's seconds for a call and for its work, measured
// on a small model of the same form as the one whose time is asked for.
#pragma once

#include <vector>

#include "core/backends/backend.h"
#include "core/graph/program_cost.h"

namespace headlight {

/// Two models of one layer: 8 tokens and width 32, 96 tokens and width 256. Each call of theirs is
/// timed five times in order of the program, and the fastest counts; from both sizes follow a
/// call's own time and that of its work. Takes some 0.1 s.
std::vector<OpRate> measure_op_rates(const Config& like, Backend&);

/// The same, and the rates of what only models from papers (core/model/presets.h) have.
std::vector<OpRate> rates_for_all(const Config& like, Backend&);

}  // namespace headlight
