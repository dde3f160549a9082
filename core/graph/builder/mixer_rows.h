// What is said of each step of a layer that mixes its rows without attention, as the rows of
// step_rows.h.
#pragma once

#include "core/graph/program.h"

namespace headlight {

class MixerRows {
 public:
  explicit MixerRows(const Config& config) : c(config) {}

  StepRow input(bool back) const {
    const bool gated = c.mixer == MixerKind::kGru;
    return {
        back ? "step.mixer.input_back" : "step.mixer.input",
        {"[[x0]] W", c.bias ? "[[out]] = [[x0]] · W + b" : "[[out]] = [[x0]] · W",
         gated ? "step.mixer.input.words.gru" : "step.mixer.input.words"},
        {"[[d0]], dW", "[[d0=]] [[out]] · W^{T},  dW = [[x0]]^{T} · [[out]]", "back.mixer.input"},
        {gated ? "words.mixer.input.gru" : "words.mixer.input"}};
  }
  StepRow states(bool back) const {
    const std::string_view title = back ? "step.mixer.states_back" : "step.mixer.states";
    const std::string_view direction = back ? "words.mixer.back" : "words.mixer.forward";
    if (c.mixer == MixerKind::kGru)
      return {title,
              {back ? "(1−z)n + z s₊₁" : "(1−z)n + z s₋₁",
               back ? "[[out]]_{t} = (1 − z) · n + z · [[out]]_{t+1},  n = tanh([[x0]]_{n} + r · "
                      "([[out]]_{t+1} · U_{n}))"
                    : "[[out]]_{t} = (1 − z) · n + z · [[out]]_{t−1},  n = tanh([[x0]]_{n} + r · "
                      "([[out]]_{t−1} · U_{n}))",
               back ? "step.mixer.gru.words.back" : "step.mixer.gru.words"},
              {"[[d0]], dU", "[[out]]_{t} → [[d0]]_{t}, [[d0]]_{t−1}, …, dU", "back.mixer.states"},
              {"words.mixer.gru", direction, "words.mixer.steps"}};
    return {title,
            {back ? "tanh([[x0]] + s₊₁ U)" : "tanh([[x0]] + s₋₁ U)",
             back ? "[[out]]_{t} = tanh([[x0]]_{t} + [[out]]_{t+1} · U)"
                  : "[[out]]_{t} = tanh([[x0]]_{t} + [[out]]_{t−1} · U)",
             back ? "step.mixer.recurrent.words.back" : "step.mixer.recurrent.words"},
            {"[[d0]], dU", "[[d0]] = (1 − s²) · ([[out]] + [[d0]]_{next} · U^{T})",
             "back.mixer.states"},
            {"words.mixer.recurrent", direction, "words.mixer.steps"}};
  }
  StepRow both() const {
    return {"step.mixer.both",
            {"[[x0]] + [[x1]]", "[[out]] = [[x0]] + [[x1]]", "step.mixer.both.words"},
            {"[[d0]], [[d1]]", "[[d0=]] [[out]],  [[d1=]] [[out]]", "back.mixer.both"},
            {"words.mixer.both"}};
  }
  /// `wide`: wherever the window lies, some of it lies beyond the text's ends.
  StepRow window(bool causal, bool wide) const {
    return {
        "step.mixer.window",
        {"Σ_k [[x0]] W_k",
         c.bias ? "[[out]]_{t} = Σ_{k} [[x0]]_{t + shift(k)} · W_{k} + b"
                : "[[out]]_{t} = Σ_{k} [[x0]]_{t + shift(k)} · W_{k}",
         wide     ? "step.mixer.window.words.wide"
         : causal ? "step.mixer.window.words"
                  : "step.mixer.window.words.centred"},
        {"[[d0]], dW", "[[d0=]] Σ_{k} [[out]]_{t − shift(k)} · W_{k}^{T}", "back.mixer.window"},
        {"words.mixer.window", causal ? "words.mixer.window.causal" : "words.mixer.window.centred",
         "words.mixer.receptive"}};
  }
  StepRow output() const {
    return {"step.mixer.output",
            {"[[x0]] W_O",
             c.has_output_bias() ? "[[out]] = [[x0]] · W_{O} + b_{O}" : "[[out]] = [[x0]] · W_{O}",
             "step.mixer.output.words"},
            {"[[d0]], dW_O", "[[d0=]] [[out]] · W_{O}^{T},  dW_{O} = [[x0]]^{T} · [[out]]",
             "back.mixer.output"},
            {"words.mixer.output"}};
  }

 private:
  const Config& c;
};

}  // namespace headlight
