// What is said of each step between the last layer and the scores, as the rows of step_rows.h.
#pragma once

#include "core/graph/builder/step_rows.h"

namespace headlight {

class HeadRows {
 public:
  explicit HeadRows(const Config& config) : c(config), rows_(config, false) {}

  // ---- Config::head_transform ----

  StepRow head_in() const {
    return {"step.head_in",
            {"[[x0]] W_H", biased("[[out]] = [[x0]] · W_{H} + b_{H}"), "step.head_in.words"},
            {"[[d0]], dW_H", "[[d0=]] [[out]] · W_{H}^{T},  dW_{H} = [[x0]]^{T} · [[out]]",
             "back.head_in"},
            with_bias("words.head_in")};
  }
  StepRow head_activation() const { return rows_.activation(); }

  // ---- Config::pooler ----

  StepRow pooler_in() const {
    return {"step.pooler_in",
            {"[[x0]] W_P", biased("[[out]] = [[x0]] · W_{P} + b_{P}"), "step.pooler_in.words"},
            {"[[d0]], dW_P", "[[d0=]] [[out]] · W_{P}^{T},  dW_{P} = [[x0]]^{T} · [[out]]",
             "back.pooler_in"},
            with_bias("words.pooler_in")};
  }
  StepRow pooler() const {
    const StepWords back{"[[out]] · f′([[x0]])", "[[d0]] = [[out]] · f′([[x0]])",
                         "back.activation"};
    if (c.pooler == Pooler::kRelu)
      return {"ReLU",
              {"max(0, [[x0]])", "[[out]] = max(0, [[x0]])", "step.activation.words.relu"},
              back,
              {"words.pooler.relu"}};
    return {"tanh",
            {"tanh [[x0]]", "[[out]] = tanh([[x0]])", "step.pooler.words.tanh"},
            {"[[out]] · (1 − tanh²)", "[[d0]] = [[out]] · (1 − tanh²([[x0]]))", "back.pooler.tanh"},
            {"words.pooler.tanh"}};
  }

 private:
  std::string_view biased(std::string_view formula) const {
    return c.bias ? formula : formula.substr(0, formula.rfind(" + b"));
  }
  std::vector<std::string_view> with_bias(std::string_view first) const {
    std::vector<std::string_view> ids = {first};
    if (c.bias) ids.push_back("words.bias");
    return ids;
  }

  const Config& c;
  const StepRows rows_;
};

}  // namespace headlight
