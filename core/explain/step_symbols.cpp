#include "core/explain/step_symbols.h"

#include <map>
#include <mutex>
#include <string>

#include "core/explain/steps.h"
#include "core/graph/step_names.h"

namespace headlight {
namespace {

StepSymbols score_symbols(const Config& c) {
  const bool basic = c.attention == AttentionKind::kBasic;
  if (basic && c.scores == ScoreKind::kAdditive)
    return {"v·tanh(x+x)", "S_{ij} = v · tanh(x_{i} + x_{j})"};
  if (basic) return {"x xᵀ", "S = x · x^{T}"};
  if (c.scores == ScoreKind::kAdditive) {
    return {"v·tanh(q+k)", "S_{ij} = v · tanh({q|q}_{i} + {k|k}_{j})"};
  }
  return {"Q Kᵀ", "S = {q|Q} · {k|K}^{T}"};
}

StepSymbols activation_symbols(const Config& c) {
  if (c.activation == Activation::kRelu) return {"max(x, 0)", "h = max(0, x)"};
  if (c.activation == Activation::kGelu) return {"x Φ(x)", "h = x · Φ(x)"};
  return {"x Φ(x)", "h = x · ½(1 + tanh(…))"};
}

// Keys and values of cross-attention are made of the encoder's rows, here called e.
StepSymbols cross_symbols(const Config& c, StepKind kind) {
  const bool keys = kind == StepKind::kKeys;
  const std::string_view formula = keys     ? "{k|K} = e · W_{K} + b_{K}"
                                   : c.bias ? "{v|V} = e · W_{V} + b_{V}"
                                            : "{v|V} = e · W_{V}";
  return {keys ? "e W_K" : "e W_V", keys && !c.bias ? "{k|K} = e · W_{K}" : formula};
}

}  // namespace

StepSymbols step_symbols(const Program& p, const Step& step) {
  const Config& c = p.config;
  const StepKind kind = step.kind;
  const bool crosses = step.section == Section::kCrossAttention;
  if (crosses && (kind == StepKind::kKeys || kind == StepKind::kValues))
    return cross_symbols(c, kind);
  switch (kind) {
    case StepKind::kTokens:
      return {"", "w_{t} → id_{t}"};
    case StepKind::kEmbedding:
      return {"W_E[id]", "x_{t} = W_{E}[id_{t}]"};
    case StepKind::kPosition:
      return c.positions == PositionKind::kLearned
                 ? StepSymbols{"W_pos[t]", "p_{t} = W_{pos}[t]"}
                 : StepSymbols{"sin, cos", "p_{t,2i} = sin(t / 10000^{2i/d})"};
    case StepKind::kPositionSum:
      return {"x + p", "x = x + p"};
    case StepKind::kNormBeforeAttention:
    case StepKind::kNormAfterAttention:
    case StepKind::kNormBeforeFeedForward:
    case StepKind::kNormAfterFeedForward:
    case StepKind::kFinalNorm:
      return {"(x−μ)/σ·w+b", c.bias ? "y = (x − μ)/σ · w + b" : "y = (x − μ)/σ · w"};
    case StepKind::kQueries:
      return {"x W_Q", c.bias ? "{q|Q} = x · W_{Q} + b_{Q}" : "{q|Q} = x · W_{Q}"};
    case StepKind::kKeys:
      return {"x W_K", c.bias ? "{k|K} = x · W_{K} + b_{K}" : "{k|K} = x · W_{K}"};
    case StepKind::kValues:
      return {"x W_V", c.bias ? "{v|V} = x · W_{V} + b_{V}" : "{v|V} = x · W_{V}"};
    case StepKind::kSplit:
      return {"1 → H", "{q|Q}, {k|K}, {v|V} → {q|Q}_{h}, {k|K}_{h}, {v|V}_{h}"};
    case StepKind::kScores:
      return score_symbols(c);
    case StepKind::kScale:
      return {"÷ √d_k", "S / √d_{k}"};
    case StepKind::kMask:
      return {"−∞", "S + mask"};
    case StepKind::kSoftmax:
      return {"", c.temperature == 1 ? "{p|A} = softmax(S)" : "{p|A} = softmax(S / τ)"};
    case StepKind::kWeightedSum:
      return c.attention == AttentionKind::kBasic ? StepSymbols{"A x", "z = {p|A} · x"}
                                                  : StepSymbols{"A V", "z = {p|A} · {v|V}"};
    case StepKind::kConcat:
      return {"[z₀ … z_H]", "z = [z_{0} … z_{H−1}]"};
    case StepKind::kOutput:
      return {"z W_O", c.bias ? "y = z · W_{O} + b_{O}" : "y = z · W_{O}"};
    case StepKind::kResidualAttention:
    case StepKind::kResidualFeedForward:
      return {"x + y", "x = x + y"};
    case StepKind::kDropoutPattern:
      return {"A · m", "{p|A} = m · {p|A}"};
    case StepKind::kDropoutAttention:
    case StepKind::kDropoutFeedForward:
      return {"y · m", "y = m · y"};
    case StepKind::kMeanPool:
      return {"Σ x / n", "x = (1/n) · Σ_{t} x_{t}"};
    case StepKind::kFeedForwardIn:
      return {"x W_in", c.bias ? "h = x · W_{in} + b_{in}" : "h = x · W_{in}"};
    case StepKind::kActivation:
      return activation_symbols(c);
    case StepKind::kFeedForwardOut:
      return {"h W_out", c.bias ? "y = h · W_{out} + b_{out}" : "y = h · W_{out}"};
    case StepKind::kLogits:
      if (c.form == ModelForm::kClasses)
        return {"x W_C", c.bias ? "l = x · W_{C} + b_{C}" : "l = x · W_{C}"};
      return {"x W_U", c.bias ? "l = x · W_{U} + b_{U}" : "l = x · W_{U}"};
    case StepKind::kProbabilities:
      return {"softmax", "P = softmax(l)"};
    case StepKind::kLoss:
      return {"−log P", c.form == ModelForm::kClasses ? "L = −log P[target]"
                                                      : "L_{t} = −log P_{t}[target_{t}]"};
  }
  return {};
}

namespace {

StepSymbols score_gradients(const Config& c) {
  const bool basic = c.attention == AttentionKind::kBasic;
  if (basic && c.scores == ScoreKind::kAdditive)
    return {"dx, dv", "dx_{i} = Σ_{j} (dS_{ij} + dS_{ji}) · v · (1 − tanh²(…))"};
  if (basic) return {"dx", "dx = dS · x + dS^{T} · x"};
  if (c.scores == ScoreKind::kAdditive)
    return {"dq, dk, dv", "d{q|q}_{i} = Σ_{j} dS_{ij} · v · (1 − tanh²(…))"};
  return {"dQ, dK", "d{q|Q} = dS · {k|K},  d{k|K} = dS^{T} · {q|Q}"};
}

}  // namespace

StepSymbols gradient_symbols(const Program& p, const Step& step) {
  const Config& c = p.config;
  const bool basic = c.attention == AttentionKind::kBasic;
  const bool crosses = step.section == Section::kCrossAttention;
  switch (step.kind) {
    case StepKind::kTokens:
      return {};
    case StepKind::kEmbedding:
      return {"dW_E", "dW_{E}[id] = Σ_{t} dx_{t}"};
    case StepKind::kPosition:
      return {"dW_pos", "dW_{pos}[t] = dp_{t}"};
    case StepKind::kPositionSum:
      return {"dx, dp", "dx = dp = d(x + p)"};
    case StepKind::kNormBeforeAttention:
    case StepKind::kNormAfterAttention:
    case StepKind::kNormBeforeFeedForward:
    case StepKind::kNormAfterFeedForward:
    case StepKind::kFinalNorm:
      return {"dx, dw", "dx = (g − mean(g) − n · mean(g · n)) / σ,  g = w · dy,  n = (x − μ)/σ"};
    case StepKind::kQueries:
      return {"dx, dW_Q", "dx = d{q|Q} · W_{Q}^{T},  dW_{Q} = x^{T} · d{q|Q}"};
    case StepKind::kKeys:
      return crosses ? StepSymbols{"de, dW_K", "de = d{k|K} · W_{K}^{T},  dW_{K} = e^{T} · d{k|K}"}
                     : StepSymbols{"dx, dW_K", "dx = d{k|K} · W_{K}^{T},  dW_{K} = x^{T} · d{k|K}"};
    case StepKind::kValues:
      return crosses ? StepSymbols{"de, dW_V", "de = d{v|V} · W_{V}^{T},  dW_{V} = e^{T} · d{v|V}"}
                     : StepSymbols{"dx, dW_V", "dx = d{v|V} · W_{V}^{T},  dW_{V} = x^{T} · d{v|V}"};
    case StepKind::kSplit:
      return {"H → 1", "d{q|Q}_{h}, d{k|K}_{h}, d{v|V}_{h} → d{q|Q}, d{k|K}, d{v|V}"};
    case StepKind::kScores:
      return score_gradients(c);
    case StepKind::kScale:
      return {"÷ √d_k", "dS = d(S / √d_{k}) / √d_{k}"};
    case StepKind::kMask:
      return {"dS", "dS = d(S + mask)"};
    case StepKind::kSoftmax:
      return {"dS", c.temperature == 1 ? "dS = {p|A} · (d{p|A} − Σ {p|A} · d{p|A})"
                                       : "dS = {p|A} · (d{p|A} − Σ {p|A} · d{p|A}) / τ"};
    case StepKind::kWeightedSum:
      return basic ? StepSymbols{"dA, dx", "d{p|A} = dz · x^{T},  dx = {p|A}^{T} · dz"}
                   : StepSymbols{"dA, dV", "d{p|A} = dz · {v|V}^{T},  d{v|V} = {p|A}^{T} · dz"};
    case StepKind::kConcat:
      return {"dz_h", "dz → [dz_{0} … dz_{H−1}]"};
    case StepKind::kOutput:
      return {"dz, dW_O", "dz = dy · W_{O}^{T},  dW_{O} = z^{T} · dy"};
    case StepKind::kResidualAttention:
    case StepKind::kResidualFeedForward:
      return {"dx, dy", "dx = dy = d(x + y)"};
    case StepKind::kDropoutPattern:
      return {"m · dA", "d{p|A} = m · d{p|A}"};
    case StepKind::kDropoutAttention:
    case StepKind::kDropoutFeedForward:
      return {"m · dy", "dy = m · dy"};
    case StepKind::kMeanPool:
      return {"dx / n", "dx_{t} = dx / n"};
    case StepKind::kFeedForwardIn:
      return {"dx, dW_in", "dx = dh · W_{in}^{T},  dW_{in} = x^{T} · dh"};
    case StepKind::kActivation:
      return {"dh · f′(x)", "dx = dh · f′(x)"};
    case StepKind::kFeedForwardOut:
      return {"dh, dW_out", "dh = dy · W_{out}^{T},  dW_{out} = h^{T} · dy"};
    case StepKind::kLogits:
      return c.form == ModelForm::kClasses
                 ? StepSymbols{"dx, dW_C", "dx = dl · W_{C}^{T},  dW_{C} = x^{T} · dl"}
                 : StepSymbols{"dx, dW_U", "dx = dl · W_{U}^{T},  dW_{U} = x^{T} · dl"};
    case StepKind::kProbabilities:
      return {};
    case StepKind::kLoss:
      return c.form == ModelForm::kClasses
                 ? StepSymbols{"dl", "dl = P − [target]"}
                 : StepSymbols{"dl", "dl_{t} = dL_{t} · (P_{t} − [target_{t}])"};
  }
  return {};
}

namespace {

std::string_view value_symbol(std::string_view name) {
  struct Symbol {
    std::string_view end, symbol;
  };
  static constexpr Symbol kSymbols[] = {
      {"token_ids", "ids"},
      {"source_ids", "ids"},
      {"mask", "mask"},
      {"present", "m"},
      {".dropout", "m"},
      {"pattern.dropped", "A"},
      {".dropped", "y"},
      {"embed.W_E", "W_E"},
      {"pos_embed.W_pos", "W_pos"},
      {"pos_embed", "p"},
      {"embed", "x"},
      {"resid_pre", "x"},
      {"ln1.normalized", "norm x"},
      {"ln2.normalized", "norm x"},
      {"ln3.normalized", "norm x"},
      {"ln_final.normalized", "norm x"},
      {"ln1.input", "x + y"},
      {"ln2.input", "x + y"},
      {"ln3.input", "x + y"},
      {".w", "w"},
      {".b", "b"},
      {"W_Q", "W_Q"},
      {"W_K", "W_K"},
      {"W_V", "W_V"},
      {"W_O", "W_O"},
      {"b_Q", "b_Q"},
      {"b_K", "b_K"},
      {"b_V", "b_V"},
      {"b_O", "b_O"},
      {"attn.q", "Q"},
      {"attn.k", "K"},
      {"attn.v", "V"},
      {"q_proj", "Q"},
      {"k_proj", "K"},
      {"v_proj", "V"},
      {"score_v", "v"},
      {"scores_raw", "S"},
      {"scores_scaled", "S / √d"},
      {"scores_masked", "S masked"},
      {"pattern", "A"},
      {"attn.z", "z"},
      {"concat", "z"},
      {"attn_out", "y"},
      {"resid_mid", "x"},
      {"resid_mid_cross", "x"},
      {"pooled", "x"},
      {"W_C", "W_C"},
      {"b_C", "b_C"},
      {"W_in", "W_in"},
      {"b_in", "b_in"},
      {"mlp.pre", "h"},
      {"mlp.post", "h"},
      {"W_out", "W_out"},
      {"b_out", "b_out"},
      {"mlp_out", "y"},
      {"logits", "l"},
      {"probs", "P"},
      {"targets", "target"},
      {"loss", "L"},
  };
  for (const Symbol& s : kSymbols) {
    if (name.ends_with(s.end)) return s.symbol;
  }
  if (name.ends_with("W_U")) return "W_U";
  if (name.ends_with("b_U")) return "b_U";
  return "x";
}

// "dQ", "d(x + y)"; each made once, so that a view of it stays good.
std::string_view gradient_symbol(std::string_view of) {
  static std::mutex mutex;
  static std::map<std::string, std::string, std::less<>> known;
  const std::lock_guard lock(mutex);
  auto found = known.find(of);
  if (found == known.end()) {
    const bool one = of.find(' ') == of.npos;
    const std::string name(of);
    found = known.emplace(name, one ? "d" + name : "d(" + name + ")").first;
  }
  return found->second;
}

}  // namespace

std::string_view tensor_symbol(std::string_view name) {
  const std::string_view of = without_gradient(name);
  return of.size() == name.size() ? value_symbol(name) : gradient_symbol(value_symbol(of));
}

}  // namespace headlight
