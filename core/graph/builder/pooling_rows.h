// What is said of each step of pooling, as the rows of step_rows.h.
#pragma once

#include "core/graph/program.h"

namespace headlight {

class PoolingRows {
 public:
  explicit PoolingRows(const Config& config) : c(config) {}

  StepRow mean_pool() const {
    return {"step.mean_pool",
            {"Σ [[x0]] / n", "[[out]] = (1/n) · Σ_{t} [[x0]]_{t}", "step.mean_pool.words"},
            {"[[out]] / n", "[[d0]]_{t} = [[out]] / n", "back.mean_pool"},
            {"words.mean_pool"}};
  }
  StepRow picked_token() const {
    const bool first = c.pool == PoolKind::kFirst;
    // The first token hears of no other one: no sentence can change the class.
    const bool alone = first && c.mask.is_causal() && c.mixes() && c.layers > 0;
    return {first ? "step.pool.first" : "step.pool.last",
            {first ? "[[x0]][0]" : "[[x0]][n − 1]", "[[out]] = Σ_{t} m_{t} · [[x0]]_{t}",
             alone   ? "step.pool.first.words.causal"
             : first ? "step.pool.first.words"
                     : "step.pool.last.words"},
            {"[[out]] · m", "[[d0]]_{t} = m_{t} · [[out]]", "back.pool.picked"},
            {alone   ? "words.pool.first.causal"
             : first ? "words.pool.first"
                     : "words.pool.last"}};
  }
  StepRow concat_tokens() const {
    return {"step.pool.concat",
            {"[x₀ x₁ …]", "[[out]] = ([[x0]]_{0}, [[x0]]_{1}, …)", "step.pool.concat.words"},
            {"[[d0]]_t", "[[out]] → [[d0]]_{0}, [[d0]]_{1}, …", "back.pool.concat"},
            {"words.pool.concat", "words.pool.concat.count"}};
  }
  StepRow pool_hidden() const {
    return {"step.pool.hidden",
            {"[[x0]] W_1", "[[out]] = [[x0]] · W_{1}", "step.pool.hidden.words"},
            {"[[d0]], dW_1", "[[d0]] = [[out]] · W_{1}^{T},  dW_{1} = [[x0]]^{T} · [[out]]",
             "back.pool.hidden"},
            {"words.pool.hidden"}};
  }
  StepRow pool_tanh() const {
    return {"tanh",
            {"tanh([[x0]])", "[[out]] = tanh([[x0]])", "step.pool.tanh.words"},
            {"[[out]](1−tanh²)", "[[d0]] = [[out]] · (1 − tanh²([[x0]]))", "back.pool.tanh"},
            {"words.pool.tanh"}};
  }
  StepRow focus_scores() const {
    if (c.pool == PoolKind::kVector)
      return {"step.focus_scores.vector",
              {"wᵀ [[x0]]ᵀ", "[[out]] = w^{T} · [[x0]]^{T}", "step.focus_scores.words.vector"},
              {"[[d0]], dw", "[[d0]] = [[out]]^{T} · w^{T},  dw = [[x0]]^{T} · [[out]]^{T}",
               "back.focus_scores"},
              {"words.focus_scores.vector", "words.focus_scores.row"}};
    return {"step.focus_scores",
            {"W_2ᵀ [[x0]]ᵀ", "[[out]] = W_{2}^{T} · [[x0]]^{T}", "step.focus_scores.words"},
            {"[[d0]], dW_2", "[[d0]] = [[out]]^{T} · W_{2}^{T},  dW_{2} = [[x0]]^{T} · [[out]]^{T}",
             "back.focus_scores"},
            {"words.focus_scores", "words.focus_scores.row", "words.focus_scores.count",
             "words.focus_scores.attention"}};
  }
  StepRow focus_weights() const {
    return {"step.focus_weights",
            {"step.softmax.hint", "{p|A} = softmax([[x0]])", "step.focus_weights.words"},
            {"[[d0]]", "[[d0]] = {p|A} · (d{p|A} − Σ {p|A} · d{p|A})", "back.softmax"},
            {"words.focus_weights", "words.focus_weights.row"}};
  }
  StepRow focus_sums() const {
    return {
        "step.focus_sums",
        {"[[x0]] [[x1]]", "[[out]] = {p|A} · [[x1]]", "step.focus_sums.words"},
        {"[[d0]], [[d1]]", "{p|[[d0]]} = [[out]] · [[x1]]^{T},  [[d1=]] {p|[[x0]]}^{T} · [[out]]",
         "back.focus_sums"},
        {"words.focus_sums"}};
  }
  StepRow focus_overlap() const {
    return {"step.focus_overlap",
            {"[[x0]] [[x0]]ᵀ", "[[out]] = {p|A} · {p|A}^{T}", "step.focus_overlap.words"},
            {"[[d0]]", "d{p|A} += ([[out]] + [[out]]^{T}) · {p|A}", "back.focus_overlap"},
            {"words.focus_overlap"}};
  }
  StepRow foci_penalty() const {
    return {"step.foci_penalty",
            {"‖[[x0]] − I‖²", "[[out]] = C · ‖[[x0]] − I‖²", "step.foci_penalty.words"},
            {"[[d0]]", "[[d0]] = 2 C · ([[x0]] − I)", "back.foci_penalty"},
            {"words.foci_penalty"}};
  }
  StepRow loss_sum() const {
    return {"step.loss_sum",
            {"[[x0]] + [[x1]]", "[[out]] = [[x0]] + [[x1]]", "step.loss_sum.words"},
            {"[[d0]], [[d1]]", "[[d0=]] [[out]],  [[d1=]] [[out]]", "back.loss_sum"},
            {"words.loss_sum"}};
  }

 private:
  const Config& c;
};

}  // namespace headlight
