// A step as code: what a person would write with NumPy or PyTorch to compute it from the exported
// tensors. Each operation brings its own lines; here they get their inputs and a check at the end.
#pragma once

#include <string>
#include <vector>

#include "core/run/trace.h"

namespace headlight {

enum class CodeLibrary { kNumpy, kTorch };

struct StepCode {
  std::string text;  // a whole script: imports, inputs, the step, a comparison with the trace
  struct Result {
    std::string variable, tensor;  // "scores_raw" holds "blocks.0.attn.scores_raw"
  };
  std::vector<Result> results;
};

/// The code of `step` with this run's shapes. It reads run.npz and, where the step has parameters,
/// weights.npz, as `headlight trace --out run.npz --weights-out weights.npz` writes them.
StepCode step_code(const Trace&, const Step&, CodeLibrary);

}  // namespace headlight
