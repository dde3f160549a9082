// How long the window takes to show a model's numbers from the other side, the processor's or the
// graphics card's: printed by `headlight bench switch`.
#pragma once

#include <functional>

#include "tests/bench/bench_core.h"

namespace headlight {

struct SwitchModel {
  int layers = 12, d_model = 768, heads = 12;
  int tokens = 12;  // of the sentence
};

/// From the choice to the trace that is shown, the heatmaps' ranges included: CPU to GPU for the
/// first time, which copies the weights and loads or compiles the kernels, then back and forth a
/// few times, of which the median is given. `row` is called with each as it is measured. Needs no
/// window. Throws Error where there is no graphics card, or where it fails.
void bench_switch(const SwitchModel&, int threads, const std::function<void(const BenchRow&)>& row);

}  // namespace headlight
