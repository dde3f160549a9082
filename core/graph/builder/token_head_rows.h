// What is said of each step of a head of tokens beside that of classes, as the rows of step_rows.h.
#pragma once

#include "core/graph/program.h"

namespace headlight {

class TokenHeadRows {
 public:
  explicit TokenHeadRows(const Config& config) : c(config) {}

  StepRow logits() const {
    StepRow row{
        "step.token_logits",
        {"[[x0]] W_U",
         c.has_head_bias() ? "[[out]] = [[x0]] · W_{U} + b_{U}" : "[[out]] = [[x0]] · W_{U}",
         "step.token_logits.words"},
        {"[[d0]], dW_U", "[[d0=]] [[out]] · W_{U}^{T},  dW_{U} = [[x0]]^{T} · [[out]]",
         "back.token_logits"},
        {"words.token_logits", "words.token_logits.row"}};
    if (!c.tied_head) return row;
    row.forward.hint = "[[x0]] W_Eᵀ";
    row.forward.formula =
        c.has_tied_bias() ? "[[out]] = [[x0]] · W_{E}^{T} + b_{U}" : "[[out]] = [[x0]] · W_{E}^{T}";
    row.backward.hint = "[[d0]], dW_E";
    row.backward.formula = "[[d0=]] [[out]] · W_{E},  dW_{E} += [[out]]^{T} · [[x0]]";
    return row;
  }
  StepRow probabilities() const {
    return {"step.token_probabilities",
            {"softmax", "[[out]] = softmax([[x0]])", "step.token_probabilities.words"},
            {},
            {"words.token_probabilities"}};
  }
  StepRow loss() const {
    return {"step.token_loss",
            {"−log softmax", "[[out]]_{t} = −log softmax([[x0]]_{t})[target_{t}]",
             "step.token_loss.words"},
            {"[[d0]]", "[[d0]]_{t} = [[out]]_{t} · (softmax([[x0]]_{t}) − [target_{t}])",
             "back.token_loss"},
            {"words.token_loss", "words.token_loss.row"}};
  }
  StepRow mean() const {
    return {
        "step.hidden_loss",
        {"Σ [[x0]] [[x1]]", "[[out]] = Σ_{t} [[x0]]_{t} · [[x1]]_{t}", "step.hidden_loss.words"},
        {"[[x0]] [[out]]", "[[d1]]_{t} = [[x0]]_{t} · [[out]]", "back.hidden_loss"},
        {"words.hidden_loss", "words.hidden_loss.batch"}};
  }
  StepRow sum() const {
    return {"step.both_losses",
            {"[[x0]] + [[x1]]", "[[out]] = [[x0]] + [[x1]]", "step.both_losses.words"},
            {"[[d0]], [[d1]]", "[[d0=]] [[out]],  [[d1=]] [[out]]", "back.both_losses"},
            {"words.both_losses"}};
  }

 private:
  const Config& c;
};

}  // namespace headlight
