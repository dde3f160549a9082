// What a model takes, as a person asks for it: a run, a training step, more and more tokens, narrow
// heads beside wide ones. All of it is said before anything is allocated.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/texts.h"
#include "core/graph/program_cost.h"
#include "core/train/trainer.h"

namespace headlight {

/// The sizes that can be tried out.
struct CostSizes {
  std::int64_t tokens = 0, batch = 1;
  int layers = 0, heads = 0, d_model = 0;
  bool operator==(const CostSizes&) const = default;
};

inline constexpr std::int64_t kMostCostBatch = 4096;

/// Those of a model and a run of it; tokens are those of the source where there is one.
CostSizes sizes_of(const Config&, const RunShape&);
/// The model and the run with these sizes in place of its own: the width becomes the nearest that
/// the heads divide, heads of keys and values the most that divide the heads, and the row of an
/// encoder-decoder as long as it was beside its source.
void set_sizes(const CostSizes&, Config&, RunShape&);

/// A run of so many tokens.
struct CostPoint {
  std::int64_t tokens = 0;
  double parameter_bytes = 0, run_bytes = 0, pair_bytes = 0, multiply_adds = 0;
};

struct ModelCost {
  Config config;
  RunShape shape;
  ProgramCost run;                          // of the whole batch
  ProgramCost training;                     // of one step, forward and backward
  TrainingMemory memory;                    // of that step
  double kept = 0, kept_in_half = 0;        // of it the activations: in float32, and in 16 bits
  double fused_saving = 0;                  // bytes of a run: fused_saving()
  std::vector<CostPoint> curve;             // tokens doubled from 4 on, and the run itself
  std::optional<ProgramCost> narrow, wide;  // the same with these heads; of a model that has heads
};

/// Throws UsageError (validate).
ModelCost model_cost(const Config&, const RunShape&, const TrainerOptions& = {});

/// What a section of a stack is called in the window: "Decoder · Attention".
std::string section_name(Language, Section, Stack);
/// How far what really is is from what was predicted: "+1.2 %", "±0 %".
std::string apart_text(double real, double predicted);

}  // namespace headlight
