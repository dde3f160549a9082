#include "core/explain/steps.h"
#include "core/run/targets.h"

#include <algorithm>
#include <cmath>

#include "core/autodiff/backward.h"
#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/explain/step_symbols.h"

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

std::string_view activation_name(Activation activation) {
  switch (activation) {
    case Activation::kRelu:
      return "ReLU";
    case Activation::kGelu:
      return "GELU";
    case Activation::kGeluTanh:
      return "GELU (tanh)";
    case Activation::kSilu:
      return "SiLU";
    case Activation::kSwiglu:
      return "SwiGLU";
    case Activation::kGeglu:
      return "GEGLU";
  }
  return "";
}

}  // namespace

StepText step_text(Language language, const Program& program, const Step& step) {
  const Config& c = program.config;
  const StepSymbols same =
      step.backward ? gradient_symbols(program, step) : step_symbols(program, step);
  StepText text{tr(language, text_id(step.kind)), same.hint, same.formula};
  if (step.kind == StepKind::kActivation) text.title = activation_name(c.activation);
  if (step.kind == StepKind::kTokens) text.hint = tr(language, "step.tokens.hint");
  const bool classes = c.form == ModelForm::kClasses;
  if (step.kind == StepKind::kProbabilities && classes) text.title = tr(language, "step.class");
  if (step.kind == StepKind::kSoftmax && !step.backward)
    text.hint = tr(language, "step.softmax.hint");
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

// L, and where the walk begins.
std::string first_gradient_words(Language language, const Trace& trace) {
  const Program& p = trace.program();
  const std::int64_t counted = counted_targets(trace);
  if (counted == 0) return std::string(tr(language, "back.no_loss"));
  const std::string loss = number_text(mean_loss(trace), 4);
  if (p.config.form == ModelForm::kClasses) {
    const auto right = static_cast<std::int64_t>(trace.tensor(p.targets).data[0]);
    return tr(language, "back.class_loss",
              {{"loss", loss}, {"class", visible_label(trace.name("class", right))}});
  }
  return tr(language, "back.loss", {{"loss", loss}, {"n", std::to_string(counted)}});
}

std::string gradient_words(Language language, const Trace& trace, const Step& step) {
  if (step.kind == StepKind::kLoss) return first_gradient_words(language, trace);
  if (step.kind == StepKind::kScores && trace.config().scores == ScoreKind::kAdditive)
    return std::string(tr(language, "back.scores.additive"));
  std::string_view id = text_id(step.kind);
  if (step.kind == StepKind::kFinalNorm) id = text_id(StepKind::kNormBeforeAttention);
  id.remove_prefix(std::string_view("step.").size());
  return std::string(tr(language, "back." + std::string(id)));
}

}  // namespace

std::string step_words(Language language, const Trace& trace, const Step& step, std::int64_t head,
                       std::int64_t query) {
  const Config& c = trace.config();
  const std::string width = std::to_string(c.d_model);
  const std::string d_head = std::to_string(c.head_width());
  const bool crosses = step.section == Section::kCrossAttention;
  const auto row = [&] { return row_of(trace, trace.tensor(step.tensor), head, query); };
  if (step.backward) return gradient_words(language, trace, step);
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

}  // namespace headlight
