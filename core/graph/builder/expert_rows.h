// What is said of each step of a mixture of experts, as the rows of step_rows.h.
#pragma once

#include "core/graph/program.h"

namespace headlight {

class ExpertRows {
 public:
  explicit ExpertRows(const Config& config) : c(config) {}

  StepRow gate_scores() const {
    return {"step.gate_scores",
            {"[[x0]] W_G", biased("[[out]] = [[x0]] · W_{G} + b_{G}"), "step.gate_scores.words"},
            {"[[d0]], dW_G", "[[d0=]] [[out]] · W_{G}^{T},  dW_{G} = [[x0]]^{T} · [[out]]",
             "back.gate_scores"},
            with_bias("words.gate_scores")};
  }
  StepRow gate_weights() const {
    return {"step.gate_weights",
            {"step.softmax.hint", "{p|[[out]]} = softmax([[x0]])", "step.gate_weights.words"},
            {"[[d0]]", "[[d0]] = {p|G} · (d{p|G} − Σ {p|G} · d{p|G})", "back.softmax"},
            {"words.gate_weights", "words.gate_weights.row"}};
  }
  StepRow best_weights() const {
    if (c.top_experts == 1)
      return {
          "step.best_weights",
          {"step.best_weights.hint.one", "{p|[[out]]}_{e} = {p|[[x0]]}_{e},  e = argmax {p|[[x0]]}",
           "step.best_weights.words.one"},
          {"[[d0]]", "[[d0=]] [[out]],  e = argmax {p|[[x0]]}", "back.best_weights.one"},
          {"words.best_weights.one", "words.best_weights.work"}};
    return {"step.best_weights",
            {"step.best_weights.hint", "{p|[[out]]}_{e} = {p|[[x0]]}_{e} / Σ_{best} {p|[[x0]]}",
             "step.best_weights.words"},
            {"[[d0]]", "[[d0=]] ([[out]] − Σ {p|G′} · [[out]]) / Σ_{best} {p|[[x0]]}",
             "back.best_weights"},
            {"words.best_weights", "words.best_weights.work"}};
  }
  StepRow expert_in() const {
    return {"step.expert_in",
            {"[[x0]] W_in[e]", biased("[[out]]_{e} = [[x0]] · W_{in,e} + b_{in,e}"),
             "step.expert_in.words"},
            {"[[d0]], dW_in",
             "[[d0=]] Σ_{e} [[out]]_{e} · W_{in,e}^{T},  dW_{in,e} = [[x0]]^{T} · [[out]]_{e}",
             "back.expert_in"},
            with_bias("words.expert_in")};
  }
  StepRow expert_out() const {
    return {"step.expert_out",
            {"[[x0]] W_out[e]", biased("[[out]]_{e} = [[x0]]_{e} · W_{out,e} + b_{out,e}"),
             "step.expert_out.words"},
            {"[[d0]], dW_out",
             "[[d0]]_{e} = [[out]]_{e} · W_{out,e}^{T},  dW_{out,e} = [[x0]]_{e}^{T} · [[out]]_{e}",
             "back.expert_out"},
            with_bias(c.top_experts > 0 ? "words.expert_out.best" : "words.expert_out")};
  }
  StepRow mix() const {
    return {"step.mix",
            {"Σ_e [[x0]]_e [[x1]]_e", "[[out]]_{t} = Σ_{e} {p|[[x0]]}_{t,e} · [[x1]]_{e,t}",
             "step.mix.words"},
            {"[[d0]], [[d1]]",
             "{p|[[d0]]}_{t,e} = [[out]]_{t} · [[x1]]_{e,t},  [[d1]]_{e,t} = {p|[[x0]]}_{t,e} · "
             "[[out]]_{t}",
             "back.mix"},
            {"words.mix", "words.mix.row"}};
  }
  StepRow load_balance() const {
    return {"step.load_balance",
            {"C E Σ f P", "[[out]] = C · E · Σ_{e} f_{e} · P_{e},  P_{e} = mean_{t} {p|G}_{t,e}",
             "step.load_balance.words"},
            {"[[d0]]", "d{p|G}_{t,e} += C · E · f_{e} / n · Σ [[out]]", "back.load_balance"},
            {"words.load_balance"}};
  }
  StepRow loss_sum() const {
    return {"step.balanced_loss",
            {"[[x0]] + [[x1]]", "[[out]] = [[x0]] + [[x1]]", "step.balanced_loss.words"},
            {"[[d0]], [[d1]]", "[[d0=]] [[out]],  [[d1=]] [[out]]", "back.balanced_loss"},
            {"words.balanced_loss"}};
  }

 private:
  // Without the bias, which every formula has last.
  std::string_view biased(std::string_view formula) const {
    return c.has_mlp_bias() ? formula : formula.substr(0, formula.rfind(" + b"));
  }
  std::vector<std::string_view> with_bias(std::string_view first) const {
    std::vector<std::string_view> ids = {first};
    if (c.has_mlp_bias()) ids.push_back("words.bias");
    return ids;
  }

  const Config& c;
};

}  // namespace headlight
