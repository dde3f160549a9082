// What is said of the steps that bring in the segment before, as the rows of step_rows.h.
#pragma once

#include "core/graph/program.h"

namespace headlight {

class MemoryRows {
 public:
  explicit MemoryRows(const Config& config) : c(config) {}

  StepRow norm() const {
    if (c.norm == NormKind::kRms)
      return {
          "step.memory.rms_norm",
          {"[[x0]]/rms·w", "[[out]] = [[x0]] / √(mean([[x0]]²) + ε) · w", "step.memory.norm.words"},
          {"dw", "dw = Σ_{j} [[out]]_{j} · [[x0]]_{j} / σ_{j}", "back.memory.norm"},
          {"words.memory.norm", "words.memory.no_gradient"}};
    return {"step.memory.norm",
            {"([[x0]]−μ)/σ·w",
             c.bias ? "[[out]] = ([[x0]] − μ)/σ · w + b" : "[[out]] = ([[x0]] − μ)/σ · w",
             "step.memory.norm.words"},
            {"dw", "dw = Σ_{j} [[out]]_{j} · ([[x0]]_{j} − μ_{j})/σ_{j}", "back.memory.norm"},
            {"words.memory.norm", "words.memory.no_gradient"}};
  }
  StepRow join() const {
    return {"step.memory.join",
            {"([[x0]]; [[x1]])", "[[out]] = ([[x0]]; [[x1]])", "step.memory.join.words"},
            {"[[d1]]", "[[d1=]] [[out]]_{M…}", "back.memory.join"},
            {"words.memory.join", "words.memory.depth", "words.memory.no_gradient"}};
  }

 private:
  const Config& c;
};

}  // namespace headlight
