// A model folder as a person uses it, measured: printed by `headlight bench folder`.
#pragma once

#include <filesystem>
#include <vector>

#include "tests/bench/bench_core.h"

namespace headlight {

/// Opening, a run of `tokens` ids with all of its numbers kept, and one more id, typed and
/// generated; beside the multiply-add peak and the rate at which the weights can be read at all.
/// Throws Error for a folder that cannot be opened.
std::vector<BenchRow> bench_folder(const std::filesystem::path&, int tokens, int threads,
                                   int rounds);

}  // namespace headlight
