// Speed of the window's parts, measured: printed by `headlight bench`.
#pragma once

#include "tests/bench/bench_core.h"

namespace headlight {

/// Keystroke to trace, building frames (no OpenGL), the first frame off screen, memory.
std::vector<BenchRow> bench_app(int threads);

}  // namespace headlight
