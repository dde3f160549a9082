// What is said of the options of attention, as the rows of step_rows.h.
#pragma once

#include "core/graph/program.h"

namespace headlight {

class OptionRows {
 public:
  StepRow learned_key() const {
    return {
        "step.bias_kv",
        {"(K; b), (V; b)", "{k|[[out]]} = ({k|[[x0]]}; [[x1]])", "step.bias_kv.words"},
        {"dK, dV, db", "{k|[[d0]]} = {k|[[out]]}_{…T},  [[d1=]] {k|[[out]]}_{T+1}", "back.bias_kv"},
        {"words.bias_kv", "words.extra_key.mask"}};
  }
  StepRow zero_key() const {
    return {"step.zero_key",
            {"(K; 0), (V; 0)", "{k|[[out]]} = ({k|[[x0]]}; 0)", "step.zero_key.words"},
            {"dK, dV", "{k|[[d0]]} = {k|[[out]]}_{…T}", "back.zero_key"},
            {"words.zero_key", "words.extra_key.mask"}};
  }
  StepRow scale(const Config& c) const {
    if (c.score_scale != 0)
      return {"step.scale",
              {"[[x0]] · s", "[[out]] = [[x0]] · s", "step.scale.words.own"},
              {"[[out]] · s", "[[d0]] = [[out]] · s", "back.scale.own"},
              {"words.scale.own", "words.scale.row"}};
    return {"step.scale",
            {"÷ √d_k", "[[out]] = [[x0]] / √d_{k}", "step.scale.words"},
            {"÷ √d_k", "[[d0]] = [[out]] / √d_{k}", "back.scale"},
            {"words.scale", "words.scale.row"}};
  }
  StepRow softcap() const {
    return {"step.softcap",
            {"f tanh([[x0]]/f)", "[[out]] = f · tanh([[x0]] / f)", "step.softcap.words"},
            {"[[out]] · (1 − tanh²)", "[[d0]] = [[out]] · (1 − tanh²([[x0]] / f))", "back.softcap"},
            {"words.softcap", "words.scale.row"}};
  }
  StepRow added_mask() const {
    return {"step.added_mask",
            {"[[x0]] + [[x1]]", "[[out]] = [[x0]] + [[x1]]", "step.added_mask.words"},
            {"[[d0]]", "[[d0]] = [[out]]", "back.added_mask"},
            {"words.added_mask", "words.mask.row"}};
  }
  StepRow mask_heads() const {
    return {"step.mask_heads",
            {"m · [[x0]]", "{p|[[out]]} = m_{h} · {p|[[x0]]}", "step.mask_heads.words"},
            {"m · [[out]]", "{p|[[d0]]} = m_{h} · {p|[[out]]}", "back.mask_heads"},
            {"words.mask_heads"}};
  }
  StepRow mean_heads() const {
    return {"step.mean_heads",
            {"Σ_h [[x0]] / H", "{p|[[out]]} = Σ_{h} {p|[[x0]]}_{h} / H", "step.mean_heads.words"},
            {},
            {"words.mean_heads"}};
  }
  // Scores to weighted sum.
  StepRow fused_attention(const Config& c) const {
    constexpr std::string_view kFormulas[] = {
        "z_{i} = Σ_{j} softmax_{j}({q|[[x0]]}_{i} · {k|[[x1]]}_{j}) · {v|[[x2]]}_{j}",
        "z_{i} = Σ_{j} softmax_{j}({q|[[x0]]}_{i} · {k|[[x1]]}_{j} / √d) · {v|[[x2]]}_{j}",
        "z_{i} = Σ_{j} softmax_{j}({q|[[x0]]}_{i} · {k|[[x1]]}_{j} · s) · {v|[[x2]]}_{j}",
        "z_{i} = Σ_{j} softmax_{j}({q|[[x0]]}_{i} · {k|[[x1]]}_{j} / τ) · {v|[[x2]]}_{j}",
        "z_{i} = Σ_{j} softmax_{j}({q|[[x0]]}_{i} · {k|[[x1]]}_{j} / (√d · τ)) · {v|[[x2]]}_{j}",
        "z_{i} = Σ_{j} softmax_{j}({q|[[x0]]}_{i} · {k|[[x1]]}_{j} · s / τ) · {v|[[x2]]}_{j}"};
    const int scales = !c.scale ? 0 : c.score_scale == 0 ? 1 : 2;
    const bool basic = c.attention == AttentionKind::kBasic;  // all three are one
    StepRow row{
        "step.fused_attention",
        {basic ? "[[x0]] → z" : "[[x0]] [[x1]] [[x2]] → z",
         kFormulas[scales + (c.temperature != 1 ? 3 : 0)], "step.fused_attention.words"},
        basic ? StepWords{"[[d0]]",
                          "[[d0=]] dS · [[x0]] + dS^{T} · [[x0]] + P^{T} · [[out]],  dS_{ij} = "
                          "p_{ij} ([[out]]_{i} · [[x0]]_{j} − [[out]]_{i} · z_{i})",
                          "back.fused_attention"}
              : StepWords{"[[d0]], [[d1]], [[d2]]",
                          "d{v|[[x2]]}_{j} = Σ_{i} p_{ij} [[out]]_{i},  dS_{ij} = p_{ij} "
                          "([[out]]_{i} · {v|[[x2]]}_{j} − [[out]]_{i} · z_{i})",
                          "back.fused_attention"},
        {"words.fused_attention", "words.fused_attention.blocks"}};
    if (c.kv_head_count() != c.head_count()) row.paragraphs.push_back("words.shared_heads");
    row.paragraphs.push_back("words.fused_attention.row");
    row.paragraphs.push_back("words.fused_attention.unkept");
    return row;
  }
};

}  // namespace headlight
