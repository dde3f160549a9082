// What is said of each step, as rows of data. The builder puts a row beside the operation that it
// belongs to; everything that a person reads about the step comes from there.
#pragma once

#include "core/graph/program.h"

namespace headlight {

class StepRows {
 public:
  StepRows(const Config& config, bool in_place) : c(config), in_place_(in_place) {}

  // ---- before the layers ----

  StepRow tokens(Stack stack) const {
    const bool source = stack == Stack::kEncoder;
    return {"step.tokens",
            {"step.tokens.hint", "w_{t} → id_{t}",
             source ? "step.tokens.words.source" : "step.tokens.words"},
            {},
            {source ? "words.tokens.source" : "words.tokens"}};
  }
  StepRow embedding() const {
    return {"step.embedding",
            {"W_E[id]", "x_{t} = W_{E}[id_{t}]", "step.embedding.words"},
            {"dW_E", "dW_{E}[id] = Σ_{t} dx_{t}", "back.embedding"},
            {"words.embedding"}};
  }
  StepRow sinusoid() const {
    return {"step.position",
            {"sin, cos", "p_{t,2i} = sin(t / 10000^{2i/d})", "step.position.words.sinusoidal"},
            position_back(),
            {"words.position.sinusoidal"}};
  }
  StepRow learned_position() const {
    return {"step.position",
            {"W_pos[t]", "p_{t} = W_{pos}[t]", "step.position.words.learned"},
            position_back(),
            {"words.position.learned"}};
  }
  StepRow position_sum() const {
    return {"step.position_sum",
            {"x + p", "x = x + p", "step.position_sum.words"},
            {"dx, dp", "dx = dp = d(x + p)", "back.position_sum"},
            {"words.position_sum"}};
  }

  // ---- attention ----

  // `title`: other than what the kind of norm is called.
  StepRow norm(std::string_view title = "") const {
    if (c.norm == NormKind::kRms)
      return {
          title.empty() ? "step.rms_norm" : title,
          {"x/rms·w", "y = x / √(mean(x²) + ε) · w", "step.rms_norm.words"},
          {"dx, dw", "dx = (g − n · mean(g · n)) / σ,  g = w · dy,  n = x / σ", "back.rms_norm"},
          {"words.rms_norm", "words.norm.scale", "words.rms_norm.row"}};
    return {title.empty() ? "step.norm" : title,
            {"(x−μ)/σ·w+b", biased("y = (x − μ)/σ · w + b"),
             c.bias ? "step.norm.words" : "step.norm.words.without_bias"},
            {"dx, dw", "dx = (g − mean(g) − n · mean(g · n)) / σ,  g = w · dy,  n = (x − μ)/σ",
             "back.norm"},
            {"words.norm", c.bias ? "words.norm.shift" : "words.norm.scale", "words.norm.row"}};
  }
  StepRow queries(bool crosses) const {
    return {"step.queries",
            {"x W_Q", biased("{q|Q} = x · W_{Q} + b_{Q}"), "step.queries.words"},
            {"dx, dW_Q", "dx = d{q|Q} · W_{Q}^{T},  dW_{Q} = x^{T} · d{q|Q}", "back.queries"},
            with_bias(crosses ? "words.queries.cross" : "words.queries")};
  }
  // Keys and values of cross-attention are made of the encoder's rows, here called e.
  StepRow keys(bool crosses) const {
    if (crosses)
      return {"step.keys",
              {"e W_K", biased("{k|K} = e · W_{K} + b_{K}"), "step.keys.words.cross"},
              {"de, dW_K", "de = d{k|K} · W_{K}^{T},  dW_{K} = e^{T} · d{k|K}", "back.keys"},
              with_bias(shares() ? "words.keys.cross.shared" : "words.keys.cross")};
    return {"step.keys",
            {"x W_K", biased("{k|K} = x · W_{K} + b_{K}"), "step.keys.words"},
            {"dx, dW_K", "dx = d{k|K} · W_{K}^{T},  dW_{K} = x^{T} · d{k|K}", "back.keys"},
            with_bias(shares() ? "words.keys.shared" : "words.keys")};
  }
  StepRow values(bool crosses) const {
    if (crosses)
      return {"step.values",
              {"e W_V", biased("{v|V} = e · W_{V} + b_{V}"), "step.values.words.cross"},
              {"de, dW_V", "de = d{v|V} · W_{V}^{T},  dW_{V} = e^{T} · d{v|V}", "back.values"},
              with_bias(shares() ? "words.values.cross.shared" : "words.values.cross")};
    return {"step.values",
            {"x W_V", biased("{v|V} = x · W_{V} + b_{V}"), "step.values.words"},
            {"dx, dW_V", "dx = d{v|V} · W_{V}^{T},  dW_{V} = x^{T} · d{v|V}", "back.values"},
            with_bias(shares() ? "words.values.shared" : "words.values")};
  }
  StepRow split() const {
    return {"step.split",
            {"1 → H", "{q|Q}, {k|K}, {v|V} → {q|Q}_{h}, {k|K}_{h}, {v|V}_{h}",
             shares() ? "step.split.words.shared" : "step.split.words"},
            {"H → 1", "d{q|Q}_{h}, d{k|K}_{h}, d{v|V}_{h} → d{q|Q}, d{k|K}, d{v|V}", "back.split"},
            {shares() ? "words.split.shared" : "words.split"}};
  }
  StepRow rotary_queries() const {
    return {"step.rotary.queries",
            {"R_t q", "{q|q}_{t} = R_{t} · {q|q}_{t}", "step.rotary.words"},
            {"R_tᵀ dq", "d{q|q}_{t} = R_{t}^{T} · d{q|q}_{t}", "back.rotary"},
            {turns_part() ? "words.rotary.part" : "words.rotary", "words.rotary.row"}};
  }
  StepRow rotary_keys() const {
    return {"step.rotary.keys",
            {"R_t k", "{k|k}_{t} = R_{t} · {k|k}_{t}", "step.rotary.words"},
            {"R_tᵀ dk", "d{k|k}_{t} = R_{t}^{T} · d{k|k}_{t}", "back.rotary"},
            {turns_part() ? "words.rotary.part" : "words.rotary", "words.rotary.row"}};
  }
  StepRow scores() const {
    if (basic())
      return {"step.scores",
              {"x xᵀ", "S = x · x^{T}", "step.scores.words.basic"},
              {"dx", "dx = dS · x + dS^{T} · x", "back.scores"},
              {"words.scores.basic", "words.scores.row"}};
    return {"step.scores",
            {"Q Kᵀ", "S = {q|Q} · {k|K}^{T}", "step.scores.words"},
            {"dQ, dK", "d{q|Q} = dS · {k|K},  d{k|K} = dS^{T} · {q|Q}", "back.scores"},
            with_sharing("words.scores", "words.scores.row")};
  }
  StepRow additive_scores() const {
    const StepWords forward =
        basic() ? StepWords{"v·tanh(x+x)", "S_{ij} = v · tanh(x_{i} + x_{j})",
                            "step.scores.words.additive"}
                : StepWords{"v·tanh(q+k)", "S_{ij} = v · tanh({q|q}_{i} + {k|k}_{j})",
                            "step.scores.words.additive"};
    const StepWords backward =
        basic() ? StepWords{"dx, dv", "dx_{i} = Σ_{j} (dS_{ij} + dS_{ji}) · v · (1 − tanh²(…))",
                            "back.scores.additive"}
                : StepWords{"dq, dk, dv", "d{q|q}_{i} = Σ_{j} dS_{ij} · v · (1 − tanh²(…))",
                            "back.scores.additive"};
    return {"step.scores", forward, backward,
            with_sharing("words.scores.additive", "words.scores.row")};
  }
  StepRow scale() const {
    return {"step.scale",
            {"÷ √d_k", "S / √d_{k}", "step.scale.words"},
            {"÷ √d_k", "dS = d(S / √d_{k}) / √d_{k}", "back.scale"},
            {"words.scale", "words.scale.row"}};
  }
  // Every attention but a row's own has a mask for padding alone.
  StepRow mask(bool own) const {
    StepRow row{"step.mask",
                {"−∞", "S + mask", "step.mask.words"},
                {"dS", "dS = d(S + mask)", "back.mask"},
                {"words.mask"}};
    constexpr std::string_view kKinds[] = {"words.mask.padding", "words.mask.causal",
                                           "words.mask.padding", "words.mask.local",
                                           "words.mask.strided", "words.mask.free"};
    const MaskKind kind = own ? c.mask.kind : MaskKind::kNone;
    row.paragraphs.push_back(kKinds[static_cast<std::size_t>(kind)]);
    if (kind != MaskKind::kNone && kind != MaskKind::kCausal && c.mask.is_causal())
      row.paragraphs.push_back("words.mask.also_causal");
    row.paragraphs.push_back("words.mask.row");
    return row;
  }
  StepRow softmax() const {
    const bool plain = c.temperature == 1;
    return {"step.softmax",
            {"step.softmax.hint", plain ? "{p|A} = softmax(S)" : "{p|A} = softmax(S / τ)",
             "step.softmax.words"},
            {"dS",
             plain ? "dS = {p|A} · (d{p|A} − Σ {p|A} · d{p|A})"
                   : "dS = {p|A} · (d{p|A} − Σ {p|A} · d{p|A}) / τ",
             "back.softmax"},
            {"words.softmax", "words.softmax.row"}};
  }
  StepRow drop_pattern() const {
    return {"step.dropout",
            {"A · m", "{p|A} = m · {p|A}", "step.dropout.words"},
            {"m · dA", "d{p|A} = m · d{p|A}", "back.dropout"},
            {"words.dropout"}};
  }
  StepRow weighted_sum() const {
    if (basic())
      return {"step.weighted_sum",
              {"A x", "z = {p|A} · x", "step.weighted_sum.words.basic"},
              {"dA, dx", "d{p|A} = dz · x^{T},  dx = {p|A}^{T} · dz", "back.weighted_sum"},
              {"words.weighted_sum.basic", "words.weighted_sum.row"}};
    return {"step.weighted_sum",
            {"A V", "z = {p|A} · {v|V}", "step.weighted_sum.words"},
            {"dA, dV", "d{p|A} = dz · {v|V}^{T},  d{v|V} = {p|A}^{T} · dz", "back.weighted_sum"},
            with_sharing("words.weighted_sum", "words.weighted_sum.row")};
  }
  StepRow concat() const {
    return {"step.concat",
            {"[z₀ … z_H]", "z = [z_{0} … z_{H−1}]", "step.concat.words"},
            {"dz_h", "dz → [dz_{0} … dz_{H−1}]", "back.concat"},
            {"words.concat"}};
  }
  StepRow output() const {
    return {"step.output",
            {"z W_O", biased("y = z · W_{O} + b_{O}"), "step.output.words"},
            {"dz, dW_O", "dz = dy · W_{O}^{T},  dW_{O} = z^{T} · dy", "back.output"},
            with_bias("words.output")};
  }
  StepRow drop() const {
    return {"step.dropout",
            {"y · m", "y = m · y", "step.dropout.words"},
            {"m · dy", "dy = m · dy", "back.dropout"},
            {"words.dropout"}};
  }
  StepRow residual(std::string_view sentence) const {
    return {"step.residual",
            {"x + y", "x = x + y", sentence},
            {"dx, dy", "dx = dy = d(x + y)", "back.residual"},
            {"words.residual", "words.residual.row"}};
  }

  // ---- feed-forward ----

  StepRow feed_forward_in() const {
    if (c.is_gated())
      return {"step.feed_forward_in",
              {"x W_in", biased("u = x · W_{in} + b_{in}"), "step.feed_forward_in.words"},
              {"dx, dW_in", "dx = du · W_{in}^{T},  dW_{in} = x^{T} · du", "back.feed_forward_in"},
              with_bias("words.mlp_in")};
    return {"step.feed_forward_in",
            {"x W_in", biased("h = x · W_{in} + b_{in}"), "step.feed_forward_in.words"},
            {"dx, dW_in", "dx = dh · W_{in}^{T},  dW_{in} = x^{T} · dh", "back.feed_forward_in"},
            with_bias("words.mlp_in")};
  }
  StepRow gate_in() const {
    return {"step.gate_in",
            {"x W_gate", biased("g = x · W_{gate} + b_{gate}"), "step.gate_in.words"},
            {"dx, dW_gate", "dx = dg · W_{gate}^{T},  dW_{gate} = x^{T} · dg", "back.gate_in"},
            with_bias("words.gate_in")};
  }
  StepRow gate() const {
    return {"step.gate",
            {"gate · u", "h = gate · u", "step.gate.words"},
            {"dgate, du", "dgate = dh · u,  du = dh · gate", "back.gate"},
            {"words.gate"}};
  }
  StepRow activation() const {
    const StepWords back{"dh · f′(x)", "dx = dh · f′(x)", "back.activation"};
    const std::string_view words =
        c.is_gated() ? "step.activation.words.gate" : "step.activation.words";
    if (c.activation == Activation::kRelu)
      return {"ReLU",
              {"max(x, 0)", "h = max(0, x)", words},
              back,
              {"words.activation.relu", "words.activation.row"}};
    if (c.activation == Activation::kSilu || c.activation == Activation::kSwiglu)
      return {"SiLU",
              {"x σ(x)", c.is_gated() ? "gate = g · σ(g)" : "h = x · σ(x)", words},
              back,
              {c.is_gated() ? "words.activation.gate" : "words.activation.gelu",
               "words.activation.row"}};
    if (c.is_gated())
      return {"GELU",
              {"x Φ(x)", "gate = g · Φ(g)", words},
              back,
              {"words.activation.gate", "words.activation.row"}};
    const bool exact = c.activation == Activation::kGelu;
    return {exact ? "GELU" : "GELU (tanh)",
            {"x Φ(x)", exact ? "h = x · Φ(x)" : "h = x · ½(1 + tanh(…))", words},
            back,
            {"words.activation.gelu", "words.activation.row"}};
  }
  StepRow feed_forward_out() const {
    return {
        "step.feed_forward_out",
        {"h W_out", biased("y = h · W_{out} + b_{out}"), "step.feed_forward_out.words"},
        {"dh, dW_out", "dh = dy · W_{out}^{T},  dW_{out} = h^{T} · dy", "back.feed_forward_out"},
        with_bias("words.mlp_out")};
  }

  // ---- prediction ----

  StepRow mean_pool() const {
    return {"step.mean_pool",
            {"Σ x / n", "x = (1/n) · Σ_{t} x_{t}", "step.mean_pool.words"},
            {"dx / n", "dx_{t} = dx / n", "back.mean_pool"},
            {"words.mean_pool"}};
  }
  StepRow logits() const {
    return {
        "step.logits",
        {"x W_U", biased("l = x · W_{U} + b_{U}"), "step.logits.words"},
        {"dx, dW_U", "dx = dl · W_{U}^{T},  dW_{U} = x^{T} · dl", "back.logits"},
        with_bias("words.logits", in_place_ ? "words.logits.row.in_place" : "words.logits.row")};
  }
  StepRow class_logits() const {
    return {"step.logits",
            {"x W_C", biased("l = x · W_{C} + b_{C}"), "step.class_logits.words"},
            {"dx, dW_C", "dx = dl · W_{C}^{T},  dW_{C} = x^{T} · dl", "back.logits"},
            with_bias("words.class_logits", "words.class_logits.row")};
  }
  StepRow probabilities() const {
    if (classes())
      return {"step.class",
              {"softmax", "P = softmax(l)", "step.class.words"},
              {},
              {"words.class", "words.class.row"}};
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
  bool shares() const { return c.kv_head_count() != c.head_count(); }
  bool classes() const { return c.form == ModelForm::kClasses; }
  // Without the bias, which every formula has last.
  std::string_view biased(std::string_view formula) const {
    return c.bias ? formula : formula.substr(0, formula.rfind(" + b"));
  }
  std::vector<std::string_view> with_bias(std::string_view first,
                                          std::string_view last = "") const {
    std::vector<std::string_view> ids = {first};
    if (c.bias) ids.push_back("words.bias");
    if (!last.empty()) ids.push_back(last);
    return ids;
  }
  std::vector<std::string_view> with_sharing(std::string_view first, std::string_view last) const {
    std::vector<std::string_view> ids = {first};
    if (shares()) ids.push_back("words.shared_heads");
    ids.push_back(last);
    return ids;
  }
  static StepWords position_back() { return {"dW_pos", "dW_{pos}[t] = dp_{t}", "back.position"}; }

  const Config& c;
  const bool in_place_;  // RunShape::in_place
};

}  // namespace headlight
