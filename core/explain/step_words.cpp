#include "core/explain/step_words.h"

#include <algorithm>
#include <cmath>

#include "core/base/number_text.h"
#include "core/base/utf8.h"
#include "core/explain/steps.h"

namespace headlight {
namespace {

// What a name in [[name|words]] stands for: "out" is the step's result, "x0" its first input; all
// else a tensor of the step's layer or of the model.
TensorId link_target(const Program& program, const Step& step, std::string_view name) {
  if (name == "out") return step.tensor;
  if (name.size() == 2 && name[0] == 'x' && !step.calls.empty()) {
    const OpCall& call = program.calls[static_cast<std::size_t>(step.calls[0])];
    const auto place = static_cast<std::size_t>(name[1] - '0');
    return place < call.in.size() ? call.in[place] : -1;
  }
  const std::string stack = step.stack == Stack::kEncoder   ? "encoder."
                            : step.stack == Stack::kDecoder ? "decoder."
                                                            : "";
  const bool crosses = step.section == Section::kCrossAttention && name.starts_with("attn.");
  const std::string full = stack + "blocks." + std::to_string(step.layer) +
                           (crosses ? ".cross_" : ".") + std::string(name);
  const TensorId here = step.layer >= 0 ? program.find(full) : -1;
  return here >= 0 ? here : program.find(name);
}

void add_pieces(std::vector<WordPiece>& pieces, const Program& program, const Step& step,
                std::string_view markup) {
  while (!markup.empty()) {
    const std::size_t open = markup.find("[["), bar = markup.find('|', open);
    const std::size_t close = markup.find("]]", bar);
    if (open == markup.npos || bar == markup.npos || close == markup.npos) break;
    if (open > 0) pieces.push_back({std::string(markup.substr(0, open)), -1});
    pieces.push_back({std::string(markup.substr(bar + 1, close - bar - 1)),
                      link_target(program, step, markup.substr(open + 2, bar - open - 2))});
    markup = markup.substr(close + 2);
  }
  if (!markup.empty()) pieces.push_back({std::string(markup), -1});
}

struct Row {
  const float* cells = nullptr;
  std::int64_t size = 0;
  float operator[](std::int64_t i) const { return cells[i]; }
};

class Writer {
 public:
  Writer(Language language, const Trace& trace, const Step& step, std::int64_t head,
         std::int64_t query)
      : language_(language),
        trace_(trace),
        step_(step),
        head_(head),
        query_(query),
        c_(trace.config()),
        sources_(step.stack == Stack::kEncoder),
        crosses_(step.section == Section::kCrossAttention) {
    // There may be fewer source tokens than were asked for: then it is the last.
    if (sources_) query_ = std::min(query_, trace.program().shape.source - 1);
  }

  std::vector<WordPiece> write() {
    if (step_.backward) return backward();
    switch (step_.kind) {
      case StepKind::kTokens:
        return say(sources_ ? "words.tokens.source" : "words.tokens");
      case StepKind::kEmbedding:
        return say("words.embedding");
      case StepKind::kPosition:
        return say(c_.positions == PositionKind::kLearned ? "words.position.learned"
                                                          : "words.position.sinusoidal");
      case StepKind::kPositionSum:
        return say("words.position_sum");
      case StepKind::kNormBeforeAttention:
      case StepKind::kNormAfterAttention:
      case StepKind::kNormBeforeFeedForward:
      case StepKind::kNormAfterFeedForward:
      case StepKind::kFinalNorm:
        return norm();
      case StepKind::kQueries:
        return with_bias(crosses_ ? "words.queries.cross" : "words.queries");
      case StepKind::kKeys:
        return with_bias(crosses_ ? "words.keys.cross" : "words.keys");
      case StepKind::kValues:
        return with_bias(crosses_ ? "words.values.cross" : "words.values");
      case StepKind::kSplit:
        return say("words.split");
      case StepKind::kScores:
        return scores();
      case StepKind::kScale:
        return scale();
      case StepKind::kMask:
        return mask();
      case StepKind::kSoftmax:
        return softmax();
      case StepKind::kWeightedSum:
        return weighted_sum();
      case StepKind::kConcat:
        return say("words.concat");
      case StepKind::kOutput:
        return with_bias("words.output");
      case StepKind::kResidualAttention:
      case StepKind::kResidualFeedForward:
        return residual();
      case StepKind::kFeedForwardIn:
        return with_bias("words.mlp_in");
      case StepKind::kActivation:
        return activation();
      case StepKind::kFeedForwardOut:
        return with_bias("words.mlp_out");
      case StepKind::kLogits:
        return logits();
      case StepKind::kProbabilities:
        return probabilities();
      case StepKind::kLoss:
        return loss();
      case StepKind::kDropoutPattern:
      case StepKind::kDropoutAttention:
      case StepKind::kDropoutFeedForward:
        return say("words.dropout");
      case StepKind::kMeanPool:
        return say("words.mean_pool");
    }
    return {};
  }

 private:
  // A paragraph with what every step may speak of, and what only this one does.
  std::vector<WordPiece> say(std::string_view id, std::vector<Slot> own = {}) {
    paragraph(id, std::move(own));
    return std::move(pieces_);
  }

  void paragraph(std::string_view id, std::vector<Slot> own = {}) {
    const auto number = [](std::int64_t n) { return std::to_string(n); };
    const std::int64_t source = trace_.program().shape.source;
    const RunInput& input = trace_.input();
    const std::int64_t token_id =
        (sources_ ? input.source_ids : input.ids)[static_cast<std::size_t>(query_)];
    std::vector<Slot> slots = {
        {"T", number(sources_ ? source : trace_.length())},
        {"keys", number(sources_ || crosses_ ? source : trace_.length())},
        {"vocab", number(static_cast<std::int64_t>(trace_.input().vocab.size()))},
        {"d_model", number(c_.d_model)},
        {"d_head", number(c_.head_width())},
        {"H", number(c_.head_count())},
        {"wide", number(c_.head_count() * c_.head_width())},
        {"hidden", number(c_.hidden_width())},
        {"head", number(head_)},
        {"query", token(sources_ ? "source" : "position", query_)},
        {"place", number(query_)},
        {"id", number(token_id)}};
    for (Slot& slot : own) slots.push_back(std::move(slot));
    if (!pieces_.empty()) pieces_.push_back({"\n", -1});
    // Links are found before tokens are put in: a token may well be "[[".
    std::vector<WordPiece> pieces;
    add_pieces(pieces, trace_.program(), step_, tr(language_, id));
    for (WordPiece& piece : pieces) {
      piece.text = fill_all(piece.text, slots);
      pieces_.push_back(std::move(piece));
    }
  }

  static std::string fill_all(std::string_view text, const std::vector<Slot>& slots) {
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t close = text[at] == '{' ? text.find('}', at) : text.npos;
      const Slot* found = nullptr;
      for (const Slot& slot : slots) {
        if (close != text.npos && slot.name == text.substr(at + 1, close - at - 1)) found = &slot;
      }
      result += found ? found->value : std::string(1, text[at]);
      at = found ? close + 1 : at + 1;
    }
    return result;
  }

  std::string token(std::string_view axis, std::int64_t i) const {
    const std::string label = visible_label(shortened(trace_.name(axis, i), 40));
    return language_ == Language::kChinese ? "\u300c" + label + "\u300d"
                                           : "\u201c" + label + "\u201d";
  }

  static std::string number(double value) { return number_text(value, 3); }

  const OpCall& call() const {
    return trace_.program().calls[static_cast<std::size_t>(step_.calls[0])];
  }

  // The row of the head and token looked at, of the step's result or of one of its inputs.
  Row row(TensorId id) const {
    const TensorView t = trace_.tensor(id);
    const std::int64_t width = t.axes.back().size;
    const Axis& place = t.axes[t.axes.size() - 2];
    const std::int64_t block = t.axes.size() == 4 ? head_ : 0;
    const std::int64_t row = place.name == "batch" ? 0 : query_;  // of what has no places
    return {t.data + (block * place.size + row) * width, width};
  }
  // "key", or where source tokens answer "source_key".
  std::string_view key_axis() const {
    return sources_ || crosses_ ? std::string_view("source_key") : std::string_view("key");
  }
  Row result() const { return row(step_.tensor); }
  Row input(std::size_t i) const { return row(call().in[i]); }

  static std::int64_t largest(const Row& r) {
    std::int64_t best = 0;
    for (std::int64_t i = 1; i < r.size; ++i) {
      if (r[i] > r[best]) best = i;
    }
    return best;
  }

  static double length(const Row& r) {
    double sum = 0;
    for (std::int64_t i = 0; i < r.size; ++i) sum += static_cast<double>(r[i]) * r[i];
    return std::sqrt(sum);
  }

  std::vector<WordPiece> with_bias(std::string_view id) {
    paragraph(id);
    if (call().in.size() > 2) paragraph("words.bias");
    return std::move(pieces_);
  }

  std::vector<WordPiece> norm() {
    const Row x = input(0);
    double mean = 0, variance = 0;
    for (std::int64_t i = 0; i < x.size; ++i) mean += x[i];
    mean /= static_cast<double>(x.size);
    for (std::int64_t i = 0; i < x.size; ++i) variance += (x[i] - mean) * (x[i] - mean);
    variance /= static_cast<double>(x.size);
    paragraph("words.norm");
    paragraph(call().in.size() > 2 ? "words.norm.shift" : "words.norm.scale");
    return say("words.norm.row", {{"mean", number(mean)},
                                  {"sigma", number(std::sqrt(variance + call().params.epsilon))}});
  }

  std::vector<WordPiece> scores() {
    paragraph(c_.attention == AttentionKind::kBasic && c_.scores == ScoreKind::kDot
                  ? "words.scores.basic"
              : c_.scores == ScoreKind::kAdditive ? "words.scores.additive"
                                                  : "words.scores");
    const Row s = result();
    const std::int64_t best = largest(s);
    return say("words.scores.row", {{"key", token(key_axis(), best)}, {"score", number(s[best])}});
  }

  std::vector<WordPiece> scale() {
    const Row before = input(0), after = result();
    const std::int64_t best = largest(before);
    const double root = std::sqrt(static_cast<double>(c_.head_width()));
    paragraph("words.scale", {{"root", number_text(root, 4)}});
    return say("words.scale.row", {{"key", token(key_axis(), best)},
                                   {"before", number(before[best])},
                                   {"after", number(after[best])}});
  }

  std::vector<WordPiece> mask() {
    paragraph("words.mask");
    const MaskSpec& m = c_.mask;
    if (sources_ || crosses_ || m.kind == MaskKind::kNone) {  // there for padding alone
      paragraph("words.mask.padding");
    } else {
      const std::string kind = "words.mask." + std::string(word(m.kind));
      paragraph(kind, {{"window", std::to_string(m.window)}, {"stride", std::to_string(m.stride)}});
      if (m.kind != MaskKind::kCausal && m.is_causal()) paragraph("words.mask.also_causal");
    }
    const Row row = result();
    std::int64_t allowed = 0;
    for (std::int64_t j = 0; j < row.size; ++j) allowed += row[j] != -INFINITY;
    return say("words.mask.row", {{"allowed", std::to_string(allowed)}});
  }

  std::vector<WordPiece> softmax() {
    paragraph("words.softmax");
    const Row row = result();
    const std::int64_t best = largest(row);
    if (row[best] == 0) return say("words.softmax.none");
    return say("words.softmax.row",
               {{"key", token(key_axis(), best)}, {"weight", number(row[best])}});
  }

  std::vector<WordPiece> weighted_sum() {
    paragraph(c_.attention == AttentionKind::kBasic ? "words.weighted_sum.basic"
                                                    : "words.weighted_sum");
    const Row weights = input(0);
    const std::int64_t best = largest(weights);
    if (weights[best] == 0) return say("words.weighted_sum.none");
    return say("words.weighted_sum.row",
               {{"key", token(key_axis(), best)}, {"weight", number(weights[best])}});
  }

  std::vector<WordPiece> residual() {
    paragraph("words.residual");
    return say("words.residual.row",
               {{"before", number(length(input(0)))}, {"change", number(length(input(1)))}});
  }

  std::vector<WordPiece> activation() {
    const bool relu = c_.activation == Activation::kRelu;
    paragraph(relu ? "words.activation.relu" : "words.activation.gelu");
    const Row x = input(0);
    std::int64_t positive = 0;
    for (std::int64_t i = 0; i < x.size; ++i) positive += x[i] > 0;
    return say("words.activation.row", {{"positive", std::to_string(positive)}});
  }

  // Of a classifier there is one row, and its columns are classes.
  bool classifies() const { return c_.form == ModelForm::kClasses; }
  std::string outcome(std::int64_t i) const { return token(classifies() ? "class" : "vocab", i); }

  std::vector<WordPiece> logits() {
    paragraph(classifies() ? "words.class_logits" : "words.logits",
              {{"classes", std::to_string(trace_.program().outcomes())}});
    if (call().in.size() > 2) paragraph("words.bias");
    const Row row = result();
    const std::int64_t best = largest(row);
    return say(classifies() ? "words.class_logits.row" : "words.logits.row",
               {{"best", outcome(best)}, {"score", number(row[best])}});
  }

  std::vector<WordPiece> probabilities() {
    paragraph(classifies() ? "words.class" : "words.probabilities",
              {{"classes", std::to_string(trace_.program().outcomes())}});
    const Row row = result();
    const std::int64_t best = largest(row);
    return say(classifies() ? "words.class.row" : "words.probabilities.row",
               {{"best", outcome(best)}, {"weight", number(row[best])}});
  }

  // What comes in and what goes on, as links; then what a gradient is.
  std::vector<WordPiece> backward() {
    const Program& p = trace_.program();
    pieces_.push_back({step_words(language_, trace_, step_, head_, query_), -1});
    pieces_.push_back({"\n", -1});
    std::vector<TensorId> made;
    for (const int c : step_.calls) {
      const OpCall& call = p.calls[static_cast<std::size_t>(c)];
      for (std::size_t i = 0; i < call.in.size(); ++i) {
        const TensorId d = p.gradient(call.in[i]);
        const bool passes = d >= 0 && !op_info(call.op).is_fixed(i);
        if (passes && std::find(made.begin(), made.end(), d) == made.end()) made.push_back(d);
      }
    }
    const auto link = [&](TensorId id) {
      pieces_.push_back(
          {std::string(tensor_symbol(p.tensors[static_cast<std::size_t>(id)].name)), id});
    };
    std::string_view rest = tr(language_, "back.from_to");
    while (!rest.empty()) {
      const std::size_t open = rest.find('{'), close = rest.find('}', open);
      if (open == rest.npos || close == rest.npos) break;
      pieces_.push_back({std::string(rest.substr(0, open)), -1});
      if (rest.substr(open + 1, close - open - 1) == "out") {
        link(step_.tensor);
      } else {
        for (std::size_t i = 0; i < made.size(); ++i) {
          if (i > 0) pieces_.push_back({language_ == Language::kChinese ? "、" : ", ", -1});
          link(made[i]);
        }
      }
      rest = rest.substr(close + 1);
    }
    if (!rest.empty()) pieces_.push_back({std::string(rest), -1});
    pieces_.push_back({"\n", -1});
    pieces_.push_back({std::string(tr(language_, "back.about")), -1});
    return pieces_;
  }

  std::vector<WordPiece> loss() {
    paragraph(classifies() ? "words.class_loss" : "words.loss");
    const std::int64_t place = classifies() ? 0 : query_;
    const float target = trace_.tensor(trace_.program().targets).data[place];
    if (target < 0) return say(classifies() ? "words.class_loss.none" : "words.loss.none");
    const double cost = trace_.tensor(step_.tensor).data[place];
    return say(classifies() ? "words.class_loss.row" : "words.loss.row",
               {{"next", outcome(static_cast<std::int64_t>(target))},
                {"weight", number(std::exp(-cost))},
                {"loss", number(cost)}});
  }

  Language language_;
  const Trace& trace_;
  const Step& step_;
  std::int64_t head_, query_;
  const Config& c_;
  const bool sources_, crosses_;  // of the encoder, of cross-attention
  std::vector<WordPiece> pieces_;
};

}  // namespace

std::vector<WordPiece> block_words(Language language, const Trace& trace, const Step& step,
                                   std::int64_t head, std::int64_t query) {
  return Writer(language, trace, step, head, query).write();
}

}  // namespace headlight
