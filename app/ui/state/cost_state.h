// Memory and time: the sizes that are tried out, and what they would take. Plain data; the shell
// fills it in.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/train/metrics/model_cost.h"

namespace headlight {

struct CostSession {
  bool show_presets = false;  // of the sheet: models from papers, instead of the shown one
  std::optional<CostSizes> cost_sizes;  // tried out; unset: those of what is shown
};

/// A model from a paper in its own sizes, with as many tokens as it reads.
struct PresetCost {
  double parameters = 0, run_bytes = 0;
  ProgramCost run;
};

struct CostDerived {
  std::shared_ptr<const ModelCost> cost;  // null until asked for
  std::uint64_t cost_of = 0;              // the trace's serial,
  std::optional<CostSizes> cost_with;     // and the sizes: what `cost` is of
  Message cost_problem;                   // why sizes do not go together; empty: they do
  double free_bytes = 0;                  // that a run may take
  std::vector<OpRate> rates;              // of this machine; empty until measured
  bool rating = false;                    // they are being measured
  std::vector<PresetCost> presets;        // as all_presets()
};

}  // namespace headlight
