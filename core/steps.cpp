#include "core/steps.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/text/number_text.h"
#include "core/text/utf8.h"

namespace headlight {
namespace {

// The part of the text ids that stands for a step: "step.<id>", "step.<id>.words". Steps that are
// the same to a reader share theirs.
std::string_view text_id(StepKind kind) {
  switch (kind) {
    case StepKind::kTokens:
      return "step.tokens";
    case StepKind::kEmbedding:
      return "step.embedding";
    case StepKind::kPosition:
      return "step.position";
    case StepKind::kPositionSum:
      return "step.position_sum";
    case StepKind::kNormBeforeAttention:
    case StepKind::kNormAfterAttention:
    case StepKind::kNormBeforeFeedForward:
    case StepKind::kNormAfterFeedForward:
      return "step.norm";
    case StepKind::kQueries:
      return "step.queries";
    case StepKind::kKeys:
      return "step.keys";
    case StepKind::kValues:
      return "step.values";
    case StepKind::kSplit:
      return "step.split";
    case StepKind::kScores:
      return "step.scores";
    case StepKind::kScale:
      return "step.scale";
    case StepKind::kMask:
      return "step.mask";
    case StepKind::kSoftmax:
      return "step.softmax";
    case StepKind::kWeightedSum:
      return "step.weighted_sum";
    case StepKind::kConcat:
      return "step.concat";
    case StepKind::kOutput:
      return "step.output";
    case StepKind::kResidualAttention:
    case StepKind::kResidualFeedForward:
      return "step.residual";
    case StepKind::kFeedForwardIn:
      return "step.feed_forward_in";
    case StepKind::kActivation:
      return "step.activation";
    case StepKind::kFeedForwardOut:
      return "step.feed_forward_out";
    case StepKind::kFinalNorm:
      return "step.final_norm";
    case StepKind::kMeanPool:
      return "step.mean_pool";
    case StepKind::kDropoutPattern:
    case StepKind::kDropoutAttention:
    case StepKind::kDropoutFeedForward:
      return "step.dropout";
    case StepKind::kLogits:
      return "step.logits";
    case StepKind::kProbabilities:
      return "step.probabilities";
    case StepKind::kLoss:
      return "step.loss";
  }
  return "";
}

// What is the same in every language: the hint on the rail and the formula.
struct Symbols {
  std::string_view hint, formula;
};

Symbols score_symbols(const Config& c) {
  if (c.attention == AttentionKind::kBasic) return {"x xᵀ", "S = x · x^{T}"};
  if (c.scores == ScoreKind::kAdditive) {
    return {"v·tanh(q+k)", "S_{ij} = v · tanh({q|q}_{i} + {k|k}_{j})"};
  }
  return {"Q Kᵀ", "S = {q|Q} · {k|K}^{T}"};
}

Symbols activation_symbols(const Config& c) {
  if (c.activation == Activation::kRelu) return {"max(x, 0)", "h = max(0, x)"};
  if (c.activation == Activation::kGelu) return {"x Φ(x)", "h = x · Φ(x)"};
  return {"x Φ(x)", "h = x · ½(1 + tanh(…))"};
}

// Keys and values of cross-attention are made of the encoder's rows, here called e.
Symbols cross_symbols(const Config& c, StepKind kind) {
  const bool keys = kind == StepKind::kKeys;
  const std::string_view formula = keys     ? "{k|K} = e · W_{K} + b_{K}"
                                   : c.bias ? "{v|V} = e · W_{V} + b_{V}"
                                            : "{v|V} = e · W_{V}";
  return {keys ? "e W_K" : "e W_V", keys && !c.bias ? "{k|K} = e · W_{K}" : formula};
}

Symbols symbols(const Program& p, const Step& step) {
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
                 ? Symbols{"W_pos[t]", "p_{t} = W_{pos}[t]"}
                 : Symbols{"sin, cos", "p_{t,2i} = sin(t / 10000^{2i/d})"};
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
      return c.attention == AttentionKind::kBasic ? Symbols{"A x", "z = {p|A} · x"}
                                                  : Symbols{"A V", "z = {p|A} · {v|V}"};
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

std::string_view activation_name(Activation activation) {
  switch (activation) {
    case Activation::kRelu:
      return "ReLU";
    case Activation::kGelu:
      return "GELU";
    case Activation::kGeluTanh:
      return "GELU (tanh)";
  }
  return "";
}

}  // namespace

StepText step_text(Language language, const Program& program, const Step& step) {
  const Config& c = program.config;
  const Symbols same = symbols(program, step);
  StepText text{tr(language, text_id(step.kind)), same.hint, same.formula};
  if (step.kind == StepKind::kActivation) text.title = activation_name(c.activation);
  if (step.kind == StepKind::kTokens) text.hint = tr(language, "step.tokens.hint");
  const bool classes = c.form == ModelForm::kClasses;
  if (step.kind == StepKind::kProbabilities && classes) text.title = tr(language, "step.class");
  if (step.kind == StepKind::kSoftmax) text.hint = tr(language, "step.softmax.hint");
  return text;
}

namespace {

std::string quoted(const std::string& token) {
  return "\u201c" + visible_label(shortened(token, 40)) + "\u201d";
}

struct Row {
  const float* cells = nullptr;
  std::int64_t size = 0;
  std::string name;           // the token that asks, in quotes
  std::string_view row_axis;  // of places
  std::string_view axis;      // along the row
};

// The row of one head and one query of a (batch, head, query, …) or (batch, query, …) tensor. Where
// rows are source tokens there may be fewer than asked for: then it is the last.
Row row_of(const Trace& trace, const TensorView& t, std::int64_t head, std::int64_t query) {
  const auto& axes = t.axes;
  const std::int64_t width = axes.back().size;
  const Axis& place = axes[axes.size() - 2];
  const std::int64_t rows = place.name == "batch" ? 1 : place.size;
  const std::int64_t block = axes.size() == 4 ? head : 0;
  query = std::min(query, rows - 1);
  return {t.data + (block * rows + query) * width, width, quoted(trace.name(place.name, query)),
          place.name, axes.back().name};
}

std::int64_t largest(const Row& row) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < row.size; ++i) {
    if (row.cells[i] > row.cells[best]) best = i;
  }
  return best;
}

std::string score_words(Language language, const Trace& trace, const Row& row) {
  return tr(language, "step.scores.words",
            {{"query", row.name}, {"key", quoted(trace.name(row.axis, largest(row)))}});
}

std::string mask_words(Language language, const Row& row) {
  std::int64_t allowed = 0;
  for (std::int64_t j = 0; j < row.size; ++j) allowed += row.cells[j] != -INFINITY;
  return tr(language, "step.mask.words",
            {{"query", row.name},
             {"allowed", std::to_string(allowed)},
             {"keys", std::to_string(row.size)}});
}

std::string softmax_words(Language language, const Trace& trace, const Row& row) {
  const std::int64_t best = largest(row);
  if (row.cells[best] == 0) return tr(language, "step.softmax.words.none", {{"query", row.name}});
  return tr(language, "step.softmax.words",
            {{"query", row.name},
             {"key", quoted(trace.name(row.axis, best))},
             {"weight", number_text(row.cells[best], 3)}});
}

std::string probability_words(Language language, const Trace& trace, const Row& row) {
  const std::int64_t best = largest(row);
  const std::string probability = number_text(row.cells[best], 3);
  if (row.axis == "class") {
    return tr(language, "step.class.words",
              {{"class", quoted(trace.name("class", best))}, {"probability", probability}});
  }
  return tr(language, "step.probabilities.words",
            {{"token", row.name},
             {"next", quoted(trace.name("vocab", best))},
             {"probability", probability}});
}

// What should have come out, and what it cost that it was not expected more.
std::string loss_words(Language language, const Trace& trace, const Step& step,
                       std::int64_t query) {
  const bool classes = trace.config().form == ModelForm::kClasses;
  const std::int64_t place = classes ? 0 : query;
  const float target = trace.tensor(trace.program().targets).data[place];
  const double loss = trace.tensor(step.tensor).data[place];
  const auto right = static_cast<std::int64_t>(target);
  const std::string probability = number_text(std::exp(-loss), 3), cost = number_text(loss, 3);
  if (classes) {
    if (target < 0) return std::string(tr(language, "step.class_loss.words.none"));
    return tr(language, "step.class_loss.words",
              {{"class", quoted(trace.name("class", right))},
               {"probability", probability},
               {"loss", cost}});
  }
  const std::string after = quoted(trace.name("position", query));
  if (target < 0) return tr(language, "step.loss.words.none", {{"token", after}});
  return tr(language, "step.loss.words",
            {{"token", after},
             {"next", quoted(trace.name("vocab", right))},
             {"probability", probability},
             {"loss", cost}});
}

}  // namespace

std::string step_words(Language language, const Trace& trace, const Step& step, std::int64_t head,
                       std::int64_t query) {
  const Config& c = trace.config();
  const std::string width = std::to_string(c.d_model);
  const std::string d_head = std::to_string(c.head_width());
  const bool crosses = step.section == Section::kCrossAttention;
  const auto row = [&] { return row_of(trace, trace.tensor(step.tensor), head, query); };
  switch (step.kind) {
    case StepKind::kTokens:
      return tr(language,
                step.stack == Stack::kEncoder ? "step.tokens.words.source" : "step.tokens.words",
                {{"tokens",
                  tr_count(language, "count.tokens", trace.tensor(step.tensor).axes.back().size)}});
    case StepKind::kEmbedding:
      return tr(language, "step.embedding.words", {{"width", width}});
    case StepKind::kPosition:
      return c.positions == PositionKind::kSinusoidal
                 ? std::string(tr(language, "step.position.words.sinusoidal"))
                 : tr(language, "step.position.words.learned", {{"width", width}});
    case StepKind::kNormBeforeAttention:
    case StepKind::kNormAfterAttention:
    case StepKind::kNormBeforeFeedForward:
    case StepKind::kNormAfterFeedForward:
    case StepKind::kFinalNorm:
      return std::string(tr(language, c.bias ? "step.norm.words" : "step.norm.words.without_bias"));
    case StepKind::kQueries:
      return tr(language, "step.queries.words", {{"d_head", d_head}});
    case StepKind::kKeys:
      return tr(language, crosses ? "step.keys.words.cross" : "step.keys.words",
                {{"d_head", d_head}});
    case StepKind::kValues:
      return tr(language, crosses ? "step.values.words.cross" : "step.values.words",
                {{"d_head", d_head}});
    case StepKind::kSplit:
      return tr(language, "step.split.words",
                {{"columns", std::to_string(c.head_count() * c.head_width())},
                 {"heads", tr_count(language, "count.heads", c.head_count())},
                 {"d_head", d_head}});
    case StepKind::kScores:
      return score_words(language, trace, row());
    case StepKind::kScale:
      return tr(language, "step.scale.words",
                {{"d_head", d_head},
                 {"root", number_text(std::sqrt(static_cast<double>(c.head_width())), 4)}});
    case StepKind::kMask:
      return mask_words(language, row());
    case StepKind::kSoftmax:
      return softmax_words(language, trace, row());
    case StepKind::kWeightedSum:
      return tr(language, "step.weighted_sum.words", {{"query", row().name}});
    case StepKind::kConcat:
      return tr(language, "step.concat.words",
                {{"heads", tr_count(language, "count.heads", c.head_count())}, {"d_head", d_head}});
    case StepKind::kOutput:
      return tr(language, "step.output.words", {{"width", width}});
    case StepKind::kFeedForwardIn:
      return tr(language, "step.feed_forward_in.words",
                {{"hidden", std::to_string(c.hidden_width())}});
    case StepKind::kFeedForwardOut:
      return tr(language, "step.feed_forward_out.words", {{"width", width}});
    case StepKind::kProbabilities:
      return probability_words(language, trace, row());
    case StepKind::kLoss:
      return loss_words(language, trace, step, query);
    case StepKind::kPositionSum:
      return std::string(tr(language, "step.position_sum.words"));
    case StepKind::kResidualAttention:
      return std::string(
          tr(language, crosses ? "step.residual.words.cross" : "step.residual.words.attention"));
    case StepKind::kResidualFeedForward:
      return std::string(tr(language, "step.residual.words.feed_forward"));
    case StepKind::kActivation:
      return std::string(tr(language, "step.activation.words"));
    case StepKind::kDropoutPattern:
    case StepKind::kDropoutAttention:
    case StepKind::kDropoutFeedForward:
      return std::string(tr(language, "step.dropout.words"));
    case StepKind::kMeanPool:
      return std::string(tr(language, "step.mean_pool.words"));
    case StepKind::kLogits:
      return std::string(tr(language, c.form == ModelForm::kClasses ? "step.class_logits.words"
                                                                    : "step.logits.words"));
  }
  return {};
}

std::string_view tensor_symbol(std::string_view name) {
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

}  // namespace headlight
