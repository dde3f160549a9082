#include "core/steps.h"

#include <array>
#include <cmath>

#include "core/text/number_text.h"
#include "core/text/utf8.h"

namespace headlight {
namespace {

StepText activation_text(const Config& c) {
  switch (c.activation) {
    case Activation::kRelu:
      return {"ReLU", "max(x, 0)", "h = max(0, x)"};
    case Activation::kGelu:
      return {"GELU", "x Φ(x)", "h = x · Φ(x)"};
    case Activation::kGeluTanh:
      return {"GELU (tanh)", "x Φ(x)", "h = x · ½(1 + tanh(…))"};
  }
  return {};
}

StepText score_text(const Config& c) {
  if (c.attention == AttentionKind::kBasic) return {"Scores", "x xᵀ", "S = x · x^{T}"};
  if (c.scores == ScoreKind::kAdditive) {
    return {"Scores", "v·tanh(q+k)", "S_{ij} = v · tanh({q|q}_{i} + {k|k}_{j})"};
  }
  return {"Scores", "Q Kᵀ", "S = {q|Q} · {k|K}^{T}"};
}

}  // namespace

StepText step_text(const Program& program, const Step& step) {
  const Config& c = program.config;
  switch (step.kind) {
    case StepKind::kTokens:
      return {"Tokens", "ids", "sentence → ids"};
    case StepKind::kEmbedding:
      return {"Embedding", "W_E[id]", "x_{t} = W_{E}[id_{t}]"};
    case StepKind::kPosition:
      return c.positions == PositionKind::kLearned
                 ? StepText{"Position", "W_pos[t]", "p_{t} = W_{pos}[t]"}
                 : StepText{"Position", "sin, cos", "p_{t,2i} = sin(t / 10000^{2i/d})"};
    case StepKind::kPositionSum:
      return {"+ Position", "x + p", "x = x + p"};
    case StepKind::kNormBeforeAttention:
    case StepKind::kNormAfterAttention:
    case StepKind::kNormBeforeFeedForward:
    case StepKind::kNormAfterFeedForward:
    case StepKind::kFinalNorm:
      return {step.kind == StepKind::kFinalNorm ? "Final norm" : "Layer norm", "(x−μ)/σ·w+b",
              c.bias ? "y = (x − μ)/σ · w + b" : "y = (x − μ)/σ · w"};
    case StepKind::kQueries:
      return {"Queries", "x W_Q", c.bias ? "{q|Q} = x · W_{Q} + b_{Q}" : "{q|Q} = x · W_{Q}"};
    case StepKind::kKeys:
      return {"Keys", "x W_K", c.bias ? "{k|K} = x · W_{K} + b_{K}" : "{k|K} = x · W_{K}"};
    case StepKind::kValues:
      return {"Values", "x W_V", c.bias ? "{v|V} = x · W_{V} + b_{V}" : "{v|V} = x · W_{V}"};
    case StepKind::kSplit:
      return {"Split into heads", "1 → H", "{q|Q}, {k|K}, {v|V} → H heads"};
    case StepKind::kScores:
      return score_text(c);
    case StepKind::kScale:
      return {"Scale", "÷ √d_k", "S / √d_{k}"};
    case StepKind::kMask:
      return {"Mask", "−∞", "S + mask"};
    case StepKind::kSoftmax:
      return {"Softmax", "rows sum to 1", "{p|A} = softmax(S)"};
    case StepKind::kWeightedSum:
      return {"Weighted sum", c.attention == AttentionKind::kBasic ? "A x" : "A V",
              c.attention == AttentionKind::kBasic ? "z = {p|A} · x" : "z = {p|A} · {v|V}"};
    case StepKind::kConcat:
      return {"Concat heads", "[z₀ … z_H]", "z = [z_{0} … z_{H−1}]"};
    case StepKind::kOutput:
      return {"Output", "z W_O", c.bias ? "y = z · W_{O} + b_{O}" : "y = z · W_{O}"};
    case StepKind::kResidualAttention:
    case StepKind::kResidualFeedForward:
      return {"Residual", "x + y", "x = x + y"};
    case StepKind::kFeedForwardIn:
      return {"Feed-forward in", "x W_in", c.bias ? "h = x · W_{in} + b_{in}" : "h = x · W_{in}"};
    case StepKind::kActivation:
      return activation_text(c);
    case StepKind::kFeedForwardOut:
      return {"Feed-forward out", "h W_out",
              c.bias ? "y = h · W_{out} + b_{out}" : "y = h · W_{out}"};
    case StepKind::kLogits:
      return {"Logits", "x W_U", c.bias ? "l = x · W_{U} + b_{U}" : "l = x · W_{U}"};
    case StepKind::kProbabilities:
      return {"Next token", "softmax", "P = softmax(l)"};
  }
  return {};
}

namespace {

std::string quoted(const std::string& token) {
  return "\u201c" + visible_label(shortened(token, 40)) + "\u201d";
}

struct Row {
  const float* cells = nullptr;
  std::int64_t size = 0;
};

// The row of one head and one query of a (batch, head, query, …) or (batch, query, …) tensor.
Row row_of(const TensorView& t, std::int64_t head, std::int64_t query) {
  const auto& axes = t.axes;
  const std::int64_t width = axes.back().size;
  const std::int64_t rows = axes[axes.size() - 2].size;
  const std::int64_t block = axes.size() == 4 ? head : 0;
  return {t.data + (block * rows + query) * width, width};
}

std::int64_t largest(const Row& row) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < row.size; ++i) {
    if (row.cells[i] > row.cells[best]) best = i;
  }
  return best;
}

std::string score_words(const Trace& trace, const Step& step, std::int64_t head,
                        std::int64_t query) {
  const Row row = row_of(trace.tensor(step.tensor), head, query);
  const std::string asks = quoted(trace.tick("query", query));
  const std::string answers = quoted(trace.tick("key", largest(row)));
  return "Each query meets each key; the score is large where the two fit. " + asks +
         " asks, and " + answers + " answers loudest.";
}

std::string mask_words(const Trace& trace, const Step& step, std::int64_t head,
                       std::int64_t query) {
  const Row row = row_of(trace.tensor(step.tensor), head, query);
  std::int64_t allowed = 0;
  for (std::int64_t j = 0; j < row.size; ++j) allowed += row.cells[j] != -INFINITY;
  return "Keys that a query may not see get −∞, so their weight becomes 0. " +
         quoted(trace.tick("query", query)) + " may look at " + std::to_string(allowed) + " of " +
         std::to_string(row.size) + " keys.";
}

std::string softmax_words(const Trace& trace, const Step& step, std::int64_t head,
                          std::int64_t query) {
  const Row row = row_of(trace.tensor(step.tensor), head, query);
  const std::int64_t best = largest(row);
  const std::string asks = quoted(trace.tick("query", query));
  if (row.cells[best] == 0) return asks + " may look at no key, so its whole row is 0.";
  return "Each row becomes weights that sum to 1. " + asks + " looks most at " +
         quoted(trace.tick("key", best)) + ", with weight " + number_text(row.cells[best], 3) + ".";
}

std::string probability_words(const Trace& trace, const Step& step, std::int64_t query) {
  const Row row = row_of(trace.tensor(step.tensor), 0, query);
  const std::int64_t best = largest(row);
  return "Each row is a distribution over the vocabulary, here the words of your sentence. After " +
         quoted(trace.tick("position", query)) + " the model expects " +
         quoted(trace.tick("vocab", best)) + ", with probability " +
         number_text(row.cells[best], 3) + ".";
}

std::string count(std::int64_t n, const char* one, const char* many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

}  // namespace

std::string step_words(const Trace& trace, const Step& step, std::int64_t head,
                       std::int64_t query) {
  const Config& c = trace.config();
  const std::string width = std::to_string(c.d_model);
  const std::string d_head = std::to_string(c.head_width());
  const std::string tokens = count(trace.length(), "token", "tokens");
  switch (step.kind) {
    case StepKind::kTokens:
      return "The sentence is cut into " + tokens + ". Each distinct token has an id, its row in " +
             "the embedding table.";
    case StepKind::kEmbedding:
      return "Each token id picks its row of the table: " + width +
             " numbers. The same word gets the same row wherever it stands.";
    case StepKind::kPosition:
      return c.positions == PositionKind::kSinusoidal
                 ? "Each position has its own pattern of sines and cosines, fast on the left, slow "
                   "on the right."
                 : "Each position has its own learned row of " + width + " numbers.";
    case StepKind::kPositionSum:
      return "Embedding and position are added, so the model knows both what a token is and where "
             "it stands.";
    case StepKind::kNormBeforeAttention:
    case StepKind::kNormAfterAttention:
    case StepKind::kNormBeforeFeedForward:
    case StepKind::kNormAfterFeedForward:
    case StepKind::kFinalNorm:
      return "Each row is brought to mean 0 and variance 1, then scaled by w" +
             std::string(c.bias ? " and shifted by b." : ".");
    case StepKind::kQueries:
      return "Each token asks: its row times W_Q gives a query of " + d_head + " numbers per head.";
    case StepKind::kKeys:
      return "Each token offers: its row times W_K gives a key of " + d_head + " numbers per head.";
    case StepKind::kValues:
      return "Each token carries: its row times W_V gives a value of " + d_head +
             " numbers per head.";
    case StepKind::kSplit:
      return "The " + std::to_string(c.head_count() * c.head_width()) + " columns are cut into " +
             count(c.head_count(), "head", "heads") + " of " + d_head +
             ". Nothing is computed; the numbers only find their head.";
    case StepKind::kScores:
      return score_words(trace, step, head, query);
    case StepKind::kScale:
      return "Every score is divided by √" + d_head + " = " +
             number_text(std::sqrt(static_cast<double>(c.head_width())), 4) +
             ", so that wide heads do not make softmax all-or-nothing.";
    case StepKind::kMask:
      return mask_words(trace, step, head, query);
    case StepKind::kSoftmax:
      return softmax_words(trace, step, head, query);
    case StepKind::kWeightedSum:
      return "What " + quoted(trace.tick("query", query)) +
             " gathers: the values of all keys, each times its weight, added up.";
    case StepKind::kConcat:
      return "The heads' results stand side by side again: " +
             count(c.head_count(), "head", "heads") + " of " + d_head + " make one row.";
    case StepKind::kOutput:
      return "W_O mixes what the heads found and brings it back to " + width +
             " numbers per token.";
    case StepKind::kResidualAttention:
      return "The result is added to what came in: attention only has to say what changes.";
    case StepKind::kFeedForwardIn:
      return "Each token on its own: its row times W_in gives " + std::to_string(c.hidden_width()) +
             " hidden numbers.";
    case StepKind::kActivation:
      return "Each hidden number passes the activation: large ones pass, negative ones are held "
             "back.";
    case StepKind::kFeedForwardOut:
      return "The hidden numbers times W_out come back to " + width + " numbers per token.";
    case StepKind::kResidualFeedForward:
      return "The result is added to what came in: the feed-forward network only has to say what "
             "changes.";
    case StepKind::kLogits:
      return "Each token's row times W_U gives a score for every entry of the vocabulary.";
    case StepKind::kProbabilities:
      return probability_words(trace, step, query);
  }
  return {};
}

std::string_view tensor_symbol(std::string_view name) {
  struct Symbol {
    std::string_view end, symbol;
  };
  static constexpr std::array<Symbol, 46> kSymbols = {{
      {"token_ids", "ids"},
      {"mask", "mask"},
      {"embed.W_E", "W_E"},
      {"pos_embed.W_pos", "W_pos"},
      {"pos_embed", "p"},
      {"embed", "x"},
      {"resid_pre", "x"},
      {"ln1.normalized", "norm x"},
      {"ln2.normalized", "norm x"},
      {"ln_final.normalized", "norm x"},
      {"ln1.input", "x + y"},
      {"ln2.input", "x + y"},
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
      {"W_in", "W_in"},
      {"b_in", "b_in"},
      {"mlp.pre", "h"},
      {"mlp.post", "h"},
      {"W_out", "W_out"},
      {"b_out", "b_out"},
      {"mlp_out", "y"},
      {"logits", "l"},
      {"probs", "P"},
  }};
  for (const Symbol& s : kSymbols) {
    if (name.ends_with(s.end)) return s.symbol;
  }
  if (name.ends_with("W_U")) return "W_U";
  if (name.ends_with("b_U")) return "b_U";
  return "x";
}

}  // namespace headlight
