// What is said of each step of positions by distance, as the rows of step_rows.h.
#pragma once

#include "core/graph/program.h"

namespace headlight {

class DistanceStepRows {
 public:
  explicit DistanceStepRows(const Config& config) : c(config) {}

  // `causal`: keys stand before their query only.
  StepRow alibi(bool causal) const {
    return {"step.alibi",
            {"− m · d",
             causal ? "[[out]] = [[x0]] − m_{h} · (i − j)" : "[[out]] = [[x0]] − m_{h} · |i − j|",
             "step.alibi.words"},
            {"[[d0]]", "[[d0]] = [[out]]", "back.alibi"},
            {"words.alibi", "words.alibi.slopes", "words.alibi.row"}};
  }
  StepRow distance_bias() const {
    return {"step.distance_bias",
            {"[[x0]] + b_D", "[[out]] = [[x0]] + b_{D}[bucket(i − j)]", "step.distance_bias.words"},
            {"[[d0]], db_D", "[[d0]] = [[out]],  db_{D}[n] = Σ_{bucket(i − j) = n} [[out]]",
             "back.distance_bias"},
            {"words.distance_bias", "words.distance_bias.buckets", "words.distance_bias.shared"}};
  }
  StepRow relative_scores() const {
    if (is_xl())
      return {
          "step.relative_scores",
          {"[[x0]] Rᵀ", "[[out]]_{ij} = {q|[[x0]]} · {k|R}_{i−j}", "step.relative_scores.words.xl"},
          {"[[d0]], dR",
           "{q|[[d0]]} = Σ_{j} [[out]]_{ij} · {k|R}_{i−j},  d{k|R}_{d} = Σ_{i−j=d} "
           "[[out]]_{ij} · {q|[[x0]]}",
           "back.relative_scores.xl"},
          {"words.relative_scores.xl"}};
    return {"step.relative_scores",
            {"[[x0]] a_Kᵀ", "[[out]]_{ij} = {q|[[x0]]}_{i} · a_{K}[i − j]",
             "step.relative_scores.words"},
            {"[[d0]], da_K",
             "{q|[[d0=]]} Σ_{j} [[out]]_{ij} · a_{K}[i − j],  da_{K}[d] = Σ_{i−j=d} [[out]]_{ij} · "
             "{q|[[x0]]}_{i}",
             "back.relative_scores"},
            {"words.relative_scores", "words.relative_reach"}};
  }
  StepRow placed_scores() const {
    return {"step.placed_scores",
            {"[[x0]] + [[x1]]", "[[out]] = [[x0]] + [[x1]]", "step.placed_scores.words"},
            {"[[d0]], [[d1]]", "[[d0]] = [[out]],  [[d1]] = [[out]]", "back.placed_scores"},
            {is_xl() ? "words.placed_scores.xl" : "words.placed_scores"}};
  }
  StepRow content_sums() const {
    return {"step.content_sums",
            {"[[x0]] [[x1]]", "[[out]] = {p|[[x0]]} · {v|[[x1]]}", "step.content_sums.words"},
            {"[[d0]], [[d1]]",
             "{p|[[d0=]]} [[out]] · {v|[[x1]]}^{T},  {v|[[d1]]} = {p|[[x0]]}^{T} · [[out]]",
             "back.content_sums"},
            {"words.content_sums"}};
  }
  StepRow distance_sums() const {
    return {"step.distance_sums",
            {"[[x0]] a_V", "[[out]] = Σ_{j} {p|[[x0]]}_{ij} · a_{V}[i − j]",
             "step.distance_sums.words"},
            {"[[d0]], da_V",
             "{p|[[d0=]]} [[out]] · a_{V}[i − j],  da_{V}[d] = Σ_{i−j=d} {p|[[x0]]}_{ij} · "
             "[[out]]",
             "back.distance_sums"},
            {"words.distance_sums"}};
  }
  StepRow placed_sums() const {
    return {"step.placed_sums",
            {"[[x0]] + [[x1]]", "[[out]] = [[x0]] + [[x1]]", "step.placed_sums.words"},
            {"[[d0]], [[d1]]", "[[d0]] = [[out]],  [[d1]] = [[out]]", "back.placed_sums"},
            {"words.placed_sums"}};
  }
  StepRow distance_rows() const {
    return {"step.distance_rows",
            {"sin, cos",
             "[[out]]_{d,2i} = sin(d / 10000^{2i/D}),  [[out]]_{d,2i+1} = cos(d / "
             "10000^{2i/D})",
             "step.distance_rows.words"},
            {},
            {"words.distance_rows"}};
  }
  StepRow distance_keys() const {
    return {"step.distance_keys",
            {"[[x0]] W_R", "{k|R} = [[x0]] · W_{R}", "step.distance_keys.words"},
            {"dW_R", "dW_{R} = [[x0]]^{T} · d{k|R}", "back.distance_keys"},
            {"words.distance_keys"}};
  }
  StepRow content_queries() const {
    return {"step.content_queries",
            {"[[x0]] + u", "{q|[[out]]} = {q|[[x0]]} + u_{h}", "step.content_queries.words"},
            {"[[d0]], du", "{q|[[d0=]]} [[out]],  du_{h} = Σ_{i} [[out]]", "back.content_queries"},
            {"words.content_queries"}};
  }
  StepRow position_queries() const {
    return {"step.position_queries",
            {"[[x0]] + v", "{q|[[out]]} = {q|[[x0]]} + v_{h}", "step.position_queries.words"},
            {"[[d0]], dv", "{q|[[d0=]]} [[out]],  dv_{h} = Σ_{i} [[out]]", "back.position_queries"},
            {"words.position_queries"}};
  }

 private:
  bool is_xl() const { return c.positions == PositionKind::kTransformerXl; }

  const Config& c;
};

}  // namespace headlight
