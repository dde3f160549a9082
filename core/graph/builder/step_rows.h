// What is said of each step, as rows of data. The builder puts a row beside the operation that it
// belongs to; everything that a person reads about the step comes from there. Formulas and hints
// name tensors by links (core/explain/steps.h), so that each has the symbol of its own caption.
#pragma once

#include "core/graph/builder/number_rows.h"

namespace headlight {

class StepRows {
 public:
  StepRows(const Config& config, bool in_place) : c(config), in_place_(in_place) {}

  // ---- before the layers ----

  StepRow tokens(Stack stack) const {
    if (c.numbers) return NumberRows(c).tokens();
    const bool source = stack == Stack::kEncoder;
    return {"step.tokens",
            {"step.tokens.hint", "w_{t} → id_{t}",
             source                     ? "step.tokens.words.source"
             : stack == Stack::kDecoder ? "step.tokens.words.target"
             : c.memory > 0             ? "step.tokens.words.segment"
                                        : "step.tokens.words"},
            {},
            {source                     ? "words.tokens.source"
             : stack == Stack::kDecoder ? "words.tokens.target"
             : c.memory > 0             ? "words.tokens.segment"
                                        : "words.tokens"}};
  }

  // ---- attention ----

  StepRow norm(bool last) const {
    if (c.norm == NormKind::kRms)
      return {
          last ? "step.final_rms_norm" : "step.rms_norm",
          {"[[x0]]/rms·w", "[[out]] = [[x0]] / √(mean([[x0]]²) + ε) · w", "step.rms_norm.words"},
          {"[[d0]], dw", "[[d0=]] (g − n · mean(g · n)) / σ,  g = w · [[out]],  n = [[x0]] / σ",
           "back.rms_norm"},
          {"words.rms_norm", "words.norm.scale", "words.rms_norm.row"}};
    return {last ? "step.final_norm" : "step.norm",
            {"([[x0]]−μ)/σ·w", biased(c.bias, "[[out]] = ([[x0]] − μ)/σ · w + b"),
             c.bias ? "step.norm.words" : "step.norm.words.without_bias"},
            {"[[d0]], dw",
             "[[d0=]] (g − mean(g) − n · mean(g · n)) / σ,  g = w · [[out]],  n = ([[x0]] − μ)/σ",
             "back.norm"},
            {"words.norm", c.bias ? "words.norm.shift" : "words.norm.scale", "words.norm.row"}};
  }
  StepRow queries(bool crosses) const {
    return {"step.queries",
            {"[[x0]] W_Q", biased(c.has_qkv_bias(), "{q|Q} = [[x0]] · W_{Q} + b_{Q}"),
             "step.queries.words"},
            {"[[d0]], dW_Q", "[[d0=]] d{q|Q} · W_{Q}^{T},  dW_{Q} = [[x0]]^{T} · d{q|Q}",
             "back.queries"},
            with_bias(c.has_qkv_bias(), crosses ? "words.queries.cross" : "words.queries")};
  }
  // Keys and values of cross-attention are made of the encoder's rows.
  StepRow keys(bool crosses) const {
    if (crosses)
      return {
          "step.keys",
          {"[[x0]] W_K", biased(c.has_qkv_bias(), "{k|K} = [[x0]] · W_{K} + b_{K}"),
           "step.keys.words.cross"},
          {"[[d0]], dW_K", "[[d0=]] d{k|K} · W_{K}^{T},  dW_{K} = [[x0]]^{T} · d{k|K}",
           "back.keys"},
          with_bias(c.has_qkv_bias(), shares() ? "words.keys.cross.shared" : "words.keys.cross")};
    return {
        "step.keys",
        {"[[x0]] W_K", biased(c.has_qkv_bias(), "{k|K} = [[x0]] · W_{K} + b_{K}"),
         "step.keys.words"},
        {"[[d0]], dW_K", "[[d0=]] d{k|K} · W_{K}^{T},  dW_{K} = [[x0]]^{T} · d{k|K}", "back.keys"},
        with_bias(c.has_qkv_bias(), shares() ? "words.keys.shared" : "words.keys")};
  }
  StepRow values(bool crosses) const {
    if (crosses)
      return {"step.values",
              {"[[x0]] W_V", biased(c.has_qkv_bias(), "{v|V} = [[x0]] · W_{V} + b_{V}"),
               "step.values.words.cross"},
              {"[[d0]], dW_V", "[[d0=]] d{v|V} · W_{V}^{T},  dW_{V} = [[x0]]^{T} · d{v|V}",
               "back.values"},
              with_bias(c.has_qkv_bias(),
                        shares() ? "words.values.cross.shared" : "words.values.cross")};
    return {"step.values",
            {"[[x0]] W_V", biased(c.has_qkv_bias(), "{v|V} = [[x0]] · W_{V} + b_{V}"),
             "step.values.words"},
            {"[[d0]], dW_V", "[[d0=]] d{v|V} · W_{V}^{T},  dW_{V} = [[x0]]^{T} · d{v|V}",
             "back.values"},
            with_bias(c.has_qkv_bias(), shares() ? "words.values.shared" : "words.values")};
  }
  StepRow split() const {
    const bool apart = c.value_width() != c.head_width();
    return {"step.split",
            {"1 → H", "{q|Q}, {k|K}, {v|V} → {q|Q}_{h}, {k|K}_{h}, {v|V}_{h}",
             apart      ? "step.split.words.d_value"
             : shares() ? "step.split.words.shared"
                        : "step.split.words"},
            {"H → 1", "d{q|Q}_{h}, d{k|K}_{h}, d{v|V}_{h} → d{q|Q}, d{k|K}, d{v|V}", "back.split"},
            {apart      ? "words.split.d_value"
             : shares() ? "words.split.shared"
                        : "words.split"}};
  }
  StepRow rotary_queries() const {
    return {"step.rotary.queries",
            {"R_t q", "{q|q′}_{t} = R_{t} · {q|q}_{t}", "step.rotary.words"},
            {"R_tᵀ dq", "d{q|q}_{t} = R_{t}^{T} · d{q|q′}_{t}", "back.rotary"},
            rotary_words()};
  }
  StepRow rotary_keys() const {
    return {"step.rotary.keys",
            {"R_t k", "{k|k′}_{t} = R_{t} · {k|k}_{t}", "step.rotary.words"},
            {"R_tᵀ dk", "d{k|k}_{t} = R_{t}^{T} · d{k|k′}_{t}", "back.rotary"},
            rotary_words()};
  }
  StepRow scores() const {
    if (basic())
      return {"step.scores",
              {"[[x0]] [[x1]]ᵀ", "S = [[x0]] · [[x1]]^{T}", "step.scores.words.basic"},
              {"[[d0]]", "[[d0=]] dS · [[x1]] + dS^{T} · [[x0]]", "back.scores"},
              {"words.scores.basic", "words.scores.row"}};
    return {
        "step.scores",
        {"[[x0]] [[x1]]ᵀ", "[[out]] = {q|[[x0]]} · {k|[[x1]]}^{T}", "step.scores.words"},
        {"[[d0]], [[d1]]",
         "{q|[[d0=]]} [[out]] · {k|[[x1]]},  {k|[[d1=]]} [[out]]^{T} · {q|[[x0]]}", "back.scores"},
        with_sharing("words.scores", "words.scores.row")};
  }
  StepRow additive_scores() const {
    const StepWords forward =
        basic() ? StepWords{"v·tanh([[x0]]+[[x1]])", "S_{ij} = v · tanh([[x0]]_{i} + [[x1]]_{j})",
                            "step.scores.words.additive"}
                : StepWords{"v·tanh(q+k)", "S_{ij} = v · tanh({q|q}_{i} + {k|k}_{j})",
                            "step.scores.words.additive"};
    const StepWords backward =
        basic() ? StepWords{"[[d0]], dv",
                            "[[d0]]_{i} += Σ_{j} (dS_{ij} + dS_{ji}) · v · (1 − tanh²(…))",
                            "back.scores.additive"}
                : StepWords{"dq, dk, dv", "d{q|q}_{i} = Σ_{j} dS_{ij} · v · (1 − tanh²(…))",
                            "back.scores.additive"};
    return {"step.scores", forward, backward,
            with_sharing("words.scores.additive", "words.scores.row")};
  }
  // Every attention but a row's own has a mask for padding alone. Of the row's own some layers have
  // a window of keys besides.
  StepRow mask(bool own, bool local = false) const {
    StepRow row{"step.mask",
                {"−∞", "[[out]] = [[x0]] + mask", "step.mask.words"},
                {"[[d0]]", "[[d0]] = [[out]] · [mask = 0]", "back.mask"},
                {"words.mask"}};
    constexpr std::string_view kKinds[] = {"words.mask.padding", "words.mask.causal",
                                           "words.mask.padding", "words.mask.local",
                                           "words.mask.strided", "words.mask.free"};
    const MaskKind kind = own ? c.mask.kind : MaskKind::kNone;
    const bool window_alone = local && kind == MaskKind::kNone;
    if (!window_alone) row.paragraphs.push_back(kKinds[static_cast<std::size_t>(kind)]);
    if (kind != MaskKind::kNone && kind != MaskKind::kCausal && c.mask.is_causal())
      row.paragraphs.push_back("words.mask.also_causal");
    if (local) row.paragraphs.push_back("words.mask.nearest");
    row.paragraphs.push_back("words.mask.row");
    return row;
  }
  StepRow softmax() const {
    const bool plain = c.temperature == 1;
    return {"step.softmax",
            {"step.softmax.hint", plain ? "{p|A} = softmax([[x0]])" : "{p|A} = softmax([[x0]] / τ)",
             "step.softmax.words"},
            {"[[d0]]",
             plain ? "[[d0]] = {p|A} · (d{p|A} − Σ {p|A} · d{p|A})"
                   : "[[d0]] = {p|A} · (d{p|A} − Σ {p|A} · d{p|A}) / τ",
             plain ? "back.softmax" : "back.softmax.temperature"},
            {plain ? "words.softmax" : "words.softmax.temperature", "words.softmax.row"}};
  }
  StepRow drop_pattern() const {
    return {"step.dropout",
            {"[[x0]] · m", "{p|[[out]]} = m · {p|[[x0]]}", "step.dropout.words"},
            {"m · [[out]]", "{p|[[d0]]} = m · {p|[[out]]}", "back.dropout"},
            {"words.dropout"}};
  }
  StepRow weighted_sum() const {
    if (basic())
      return {"step.weighted_sum",
              {"[[x0]] [[x1]]", "z = {p|[[x0]]} · [[x1]]", "step.weighted_sum.words.basic"},
              {"[[d0]], [[d1]]", "{p|[[d0]]} = dz · [[x1]]^{T},  [[d1=]] {p|[[x0]]}^{T} · dz",
               "back.weighted_sum"},
              {"words.weighted_sum.basic", "words.weighted_sum.row"}};
    return {"step.weighted_sum",
            {"[[x0]] V", "z = {p|[[x0]]} · {v|V}", "step.weighted_sum.words"},
            {"[[d0]], dV", "{p|[[d0]]} = dz · {v|V}^{T},  d{v|V} = {p|[[x0]]}^{T} · dz",
             "back.weighted_sum"},
            with_sharing("words.weighted_sum", "words.weighted_sum.row")};
  }
  StepRow concat() const {
    return {"step.concat",
            {"[z₀ z₁ …]", "z = [z_{0} … z_{H−1}]", "step.concat.words"},
            {"dz_h", "dz → [dz_{0} … dz_{H−1}]", "back.concat"},
            {"words.concat"}};
  }
  StepRow output() const {
    return {"step.output",
            {"z W_O", biased(c.has_output_bias(), "y = z · W_{O} + b_{O}"), "step.output.words"},
            {"dz, dW_O", "dz = dy · W_{O}^{T},  dW_{O} = z^{T} · dy", "back.output"},
            with_bias(c.has_output_bias(), "words.output")};
  }
  StepRow drop() const {
    return {"step.dropout",
            {"[[x0]] · m", "[[out]] = m · [[x0]]", "step.dropout.words"},
            {"m · [[out]]", "[[d0]] = m · [[out]]", "back.dropout"},
            {"words.dropout"}};
  }
  StepRow residual(std::string_view sentence) const {
    return {"step.residual",
            {"[[x0]] + [[x1]]", "[[out]] = [[x0]] + [[x1]]", sentence},
            {"[[d0]], [[d1]]", "[[d0=]] [[out]],  [[d1=]] [[out]]",
             c.block == BlockKind::kPostNorm && c.has_norms() ? "back.residual.post_norm"
             : c.is_parallel()                                ? "back.residual.parallel"
                                                              : "back.residual"},
            {c.is_parallel() ? "words.residual.parallel" : "words.residual", "words.residual.row"}};
  }

  // ---- feed-forward ----

  StepRow feed_forward_in() const {
    return {"step.feed_forward_in",
            {"[[x0]] W_in", biased(c.has_mlp_bias(), "[[out]] = [[x0]] · W_{in} + b_{in}"),
             "step.feed_forward_in.words"},
            {"[[d0]], dW_in", "[[d0=]] [[out]] · W_{in}^{T},  dW_{in} = [[x0]]^{T} · [[out]]",
             "back.feed_forward_in"},
            with_bias(c.has_mlp_bias(), "words.mlp_in")};
  }
  StepRow gate_in() const {
    return {"step.gate_in",
            {"[[x0]] W_gate", biased(c.has_mlp_bias(), "g = [[x0]] · W_{gate} + b_{gate}"),
             "step.gate_in.words"},
            {"[[d0]], dW_gate", "[[d0=]] dg · W_{gate}^{T},  dW_{gate} = [[x0]]^{T} · dg",
             "back.gate_in"},
            with_bias(c.has_mlp_bias(), "words.gate_in")};
  }
  StepRow gate() const {
    return {"step.gate",
            {"gate · u", "h = gate · u", "step.gate.words"},
            {"dgate, du", "dgate = dh · u,  du = dh · gate", "back.gate"},
            {"words.gate"}};
  }
  StepRow activation() const {
    const StepWords back{"[[out]] · f′([[x0]])", "[[d0]] = [[out]] · f′([[x0]])",
                         "back.activation"};
    const std::string_view words =
        c.is_gated() ? "step.activation.words.gate" : "step.activation.words";
    const std::string_view at_length =
        c.is_gated() ? "words.activation.gate" : "words.activation.gelu";
    if (c.activation == Activation::kRelu)
      return {"ReLU",
              {"max(0, [[x0]])", "[[out]] = max(0, [[x0]])", "step.activation.words.relu"},
              back,
              {"words.activation.relu", "words.activation.row"}};
    if (c.activation == Activation::kSilu || c.activation == Activation::kSwiglu)
      return {"SiLU",
              {"[[x0]] σ([[x0]])", "[[out]] = [[x0]] · σ([[x0]])", words},
              back,
              {at_length, "words.activation.row"}};
    const bool exact = c.activation != Activation::kGeluTanh;
    return {exact ? "GELU" : "GELU (tanh)",
            {exact ? "[[x0]] Φ([[x0]])" : "[[x0]] g([[x0]])",
             exact ? "[[out]] = [[x0]] · Φ([[x0]])" : "[[out]] = [[x0]] · ½(1 + tanh(…))", words},
            back,
            {at_length, "words.activation.row"}};
  }
  StepRow feed_forward_out() const {
    return {"step.feed_forward_out",
            {"[[x0]] W_out", biased(c.has_mlp_bias(), "y = [[x0]] · W_{out} + b_{out}"),
             "step.feed_forward_out.words"},
            {"[[d0]], dW_out", "[[d0]] = dy · W_{out}^{T},  dW_{out} = [[x0]]^{T} · dy",
             "back.feed_forward_out"},
            with_bias(c.has_mlp_bias(), "words.mlp_out")};
  }

  // ---- prediction ----

  StepRow logits() const {
    return {"step.logits",
            {"[[x0]] W_U", biased(c.has_head_bias(), "l = [[x0]] · W_{U} + b_{U}"),
             "step.logits.words"},
            {"[[d0]], dW_U", "[[d0]] = dl · W_{U}^{T},  dW_{U} = [[x0]]^{T} · dl", "back.logits"},
            with_bias(c.has_head_bias(), "words.logits",
                      in_place_ ? "words.logits.row.in_place" : "words.logits.row")};
  }
  // The head is the table of embeddings, which so gets gradients from both ends.
  StepRow tied_logits() const {
    return {"step.logits",
            {"[[x0]] W_Eᵀ", biased(c.has_tied_bias(), "l = [[x0]] · W_{E}^{T} + b_{U}"),
             "step.logits.words.tied"},
            {"[[d0]], dW_E", "[[d0=]] dl · W_{E},  dW_{E} += dl^{T} · [[x0]]", "back.logits.tied"},
            with_bias(c.has_tied_bias(), "words.logits.tied",
                      in_place_ ? "words.logits.row.in_place" : "words.logits.row")};
  }
  StepRow class_logits() const {
    return {"step.logits",
            {"[[x0]] W_C", biased(c.has_head_bias(), "l = [[x0]] · W_{C} + b_{C}"),
             "step.class_logits.words"},
            {"[[d0]], dW_C", "[[d0]] = dl · W_{C}^{T},  dW_{C} = [[x0]]^{T} · dl", "back.logits"},
            with_bias(c.has_head_bias(), "words.class_logits", "words.class_logits.row")};
  }
  StepRow probabilities() const {
    if (classes())
      return {"step.class",
              {"softmax", "P = softmax(l)", "step.class.words"},
              {},
              {"words.class", "words.class.row"}};
    if (c.numbers) return NumberRows(c).probabilities();
    if (in_place_)
      return {"step.probabilities.in_place",
              {"softmax", "P = softmax(l)", "step.probabilities.words.in_place"},
              {},
              {"words.probabilities", "words.probabilities.row.in_place"}};
    return {"step.probabilities",
            {"softmax", "P = softmax(l)", "step.probabilities.words"},
            {},
            {"words.probabilities", "words.probabilities.row"}};
  }
  StepRow loss() const {
    if (classes())
      return {"step.loss",
              {"−log P", "L = −log P[target]", "step.class_loss.words"},
              {"dl", "dl = P − [target]", "back.class_loss"},
              {"words.class_loss", "words.class_loss.row"}};
    if (c.numbers) return NumberRows(c).loss();
    if (in_place_)
      return {"step.loss",
              {"−log P", "L_{t} = −log P_{t}[target_{t}]", "step.loss.words.in_place"},
              {"dl", "dl_{t} = dL_{t} · (P_{t} − [target_{t}])", "back.loss"},
              {"words.loss.in_place", "words.loss.row.in_place"}};
    return {"step.loss",
            {"−log P", "L_{t} = −log P_{t}[target_{t}]", "step.loss.words"},
            {"dl", "dl_{t} = dL_{t} · (P_{t} − [target_{t}])", "back.loss"},
            {"words.loss", "words.loss.row"}};
  }

 private:
  bool basic() const { return c.attention == AttentionKind::kBasic; }
  bool turns_part() const { return c.rotary_width > 0 && c.rotary_width < c.head_width(); }
  std::vector<std::string_view> rotary_words() const {
    std::vector<std::string_view> ids = {turns_part() ? "words.rotary.part" : "words.rotary"};
    if (c.rotary_scaling == RotaryScaling::kLinear) ids.push_back("words.rotary.linear");
    if (c.rotary_scaling == RotaryScaling::kLlama3) ids.push_back("words.rotary.llama3");
    ids.push_back("words.rotary.row");
    return ids;
  }
  bool shares() const { return c.kv_head_count() != c.head_count(); }
  bool classes() const { return c.form == ModelForm::kClasses; }
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
  std::vector<std::string_view> with_sharing(std::string_view first, std::string_view last) const {
    std::vector<std::string_view> ids = {first};
    if (shares()) ids.push_back("words.shared_heads");
    ids.push_back(last);
    return ids;
  }

  const Config& c;
  const bool in_place_;  // RunShape::in_place
};

}  // namespace headlight
