// What is said of each step of a model whose tokens are numbers, as the rows of step_rows.h.
#pragma once

#include "core/graph/program.h"

namespace headlight {

class NumberRows {
 public:
  explicit NumberRows(const Config& config) : c(config) {}

  StepRow tokens() const {
    return {"step.numbers",
            {"step.tokens.hint", "n_{t} → id_{t}", "step.numbers.words"},
            {},
            {"words.numbers"}};
  }
  StepRow number() const {
    return {"step.number",
            {"−1 + id·step", "[[out]]_{t} = −1 + 2 · id_{t} / (V − 1)", "step.number.words"},
            {},
            {"words.number"}};
  }
  StepRow embedding() const {
    return {"step.number_embedding",
            {"[[x0]] W_x", biased(c.bias, "[[out]] = [[x0]] · W_{x} + b_{x}"),
             "step.number_embedding.words"},
            {"[[d0]], dW_x", "[[d0=]] [[out]] · W_{x}^{T},  dW_{x} = [[x0]]^{T} · [[out]]",
             "back.number_embedding"},
            with_bias(c.bias, "words.number_embedding")};
  }
  StepRow answer() const {
    return {"step.answer",
            {"[[x0]] w_y", biased(c.has_head_bias(), "[[out]] = [[x0]] · w_{y} + b_{y}"),
             "step.answer.words"},
            {"[[d0]], dw_y", "[[d0=]] [[out]] · w_{y}^{T},  dw_{y} = [[x0]]^{T} · [[out]]",
             "back.answer"},
            with_bias(c.has_head_bias(), "words.answer", "words.answer.row")};
  }
  StepRow means() const {
    return {"step.means",
            {"[[x0]] W_μ", biased(c.has_head_bias(), "[[out]] = [[x0]] · W_{μ} + b_{μ}"),
             "step.means.words"},
            {"[[d0]], dW_μ", "[[d0=]] [[out]] · W_{μ}^{T},  dW_{μ} = [[x0]]^{T} · [[out]]",
             "back.answer"},
            with_bias(c.has_head_bias(), "words.means")};
  }
  StepRow component_scores() const {
    return {"step.component_scores",
            {"[[x0]] W_π", biased(c.has_head_bias(), "[[out]] = [[x0]] · W_{π} + b_{π}"),
             "step.component_scores.words"},
            {"[[d0]], dW_π", "[[d0=]] [[out]] · W_{π}^{T},  dW_{π} = [[x0]]^{T} · [[out]]",
             "back.answer"},
            with_bias(c.has_head_bias(), "words.component_scores")};
  }
  StepRow component_weights() const {
    return {"step.component_weights",
            {"step.softmax.hint", "{p|[[out]]} = softmax([[x0]])", "step.component_weights.words"},
            {"[[d0]]", "[[d0]] = {p|π} · (d{p|π} − Σ {p|π} · d{p|π})", "back.softmax"},
            {"words.component_weights"}};
  }
  StepRow log_spreads() const {
    return {"step.log_spreads",
            {"[[x0]] W_ρ", biased(c.has_head_bias(), "[[out]] = [[x0]] · W_{ρ} + b_{ρ}"),
             "step.log_spreads.words"},
            {"[[d0]], dW_ρ", "[[d0=]] [[out]] · W_{ρ}^{T},  dW_{ρ} = [[x0]]^{T} · [[out]]",
             "back.answer"},
            with_bias(c.has_head_bias(), "words.log_spreads")};
  }
  StepRow logits() const {
    if (c.components == 0)
      return {"step.logits",
              {"−(v−[[x0]])²/2σ²", "l_{t,j} = −(v_{j} − [[x0]]_{t})² / (2σ²),  σ = 0.1",
               "step.number_logits.words"},
              {"[[d0]]", "[[d0]]_{t} = Σ_{j} [[out]]_{t,j} · (v_{j} − [[x0]]_{t}) / σ²",
               "back.number_logits"},
              {"words.number_logits", "words.number_logits.square", "words.number_logits.row"}};
    return {"step.logits",
            {"log Σ π N",
             "l_{t,j} = log Σ_{k} {p|π}_{t,k} · N(v_{j}; μ_{t,k}, σ_{t,k}),  σ = h + exp(ρ)",
             "step.density.words"},
            {"[[d0]], [[d1]], [[d2]]",
             "[[d0]]_{k} = Σ_{j} [[out]]_{j} · p_{jk} · (v_{j} − [[x0]]_{k}) / σ_{k}²,  "
             "{p|[[d1]]}_{k} = Σ_{j} [[out]]_{j} · p_{jk} / {p|[[x1]]}_{k}",
             "back.density"},
            {"words.density", "words.density.limits", "words.number_logits.row"}};
  }
  StepRow probabilities() const {
    return {"step.number_probabilities",
            {"softmax", "P = softmax(l)", "step.number_probabilities.words"},
            {},
            {"words.number_probabilities", "words.number_probabilities.row"}};
  }
  StepRow loss() const {
    return {"step.loss",
            {"−log P", "L_{t} = −log P_{t}[target_{t}]", "step.number_loss.words"},
            {"dl", "dl_{t} = dL_{t} · (P_{t} − [target_{t}])", "back.loss"},
            {"words.number_loss", "words.loss.row"}};
  }

 private:
  // Without the bias, which every formula has last.
  static std::string_view biased(bool has, std::string_view formula) {
    return has ? formula : formula.substr(0, formula.rfind(" + b"));
  }
  static std::vector<std::string_view> with_bias(bool has, std::string_view first,
                                                 std::string_view last = "") {
    std::vector<std::string_view> ids = {first};
    if (has) ids.push_back("words.bias");
    if (!last.empty()) ids.push_back(last);
    return ids;
  }

  const Config& c;
};

}  // namespace headlight
