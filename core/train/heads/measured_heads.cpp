#include "core/train/heads/measured_heads.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/model/bundled.h"
#include "core/train/heads/trace_heads.h"
#include "core/train/metrics/model_probe.h"
#include "core/train/metrics/model_score.h"
#include "core/train/model_recipe.h"
#include "core/train/sentence_writer.h"
#include "core/train/tasks/class_token.h"

namespace headlight {
namespace {

constexpr std::size_t kSentences = 200, kTexts = 24;
constexpr int kTextTokens = 48;

const ModelRecipe* own_recipe(const Model* model) {
  if (!model || !model->ref.starts_with(kBundledRef)) return nullptr;
  return &bundled_recipe(model->name);
}

// Of each rule, or of all together, about kSentences.
std::vector<MeasuredSentence> sentences_of(const ModelRecipe& recipe, bool of_each) {
  std::size_t rules = 0;
  for (const HeadClaim& claim : recipe.claims) rules += !claim.patterns.empty();
  std::vector<MeasuredSentence> all;
  for (std::size_t c = 0; c < recipe.claims.size(); ++c) {
    const std::vector<std::string>& patterns = recipe.claims[c].patterns;
    const std::size_t shares = patterns.size() * (of_each ? 1 : rules);
    for (const std::string& pattern : patterns) {
      const std::size_t most = (kSentences + shares - 1) / shares;
      for (MarkedSentence& marked : marked_sentences(pattern, recipe.words, most))
        all.push_back(
            {marked.text, false, {}, of_each ? static_cast<int>(c) : -1, std::move(marked)});
    }
  }
  return all;
}

// Null for a model that learned none.
std::shared_ptr<const Task> task_if_any(const Model& model) {
  try {
    return task_of(model);
  } catch (const Error&) {
    return nullptr;
  }
}

std::vector<MeasuredSentence> examples_of(const Task& task) {
  const Split split = task.has(Split::kValidation) ? Split::kValidation : Split::kTraining;
  Random random(1);
  std::vector<MeasuredSentence> all;
  for (std::size_t i = 0; i < kSentences; ++i) {
    const TaskExample example = task.draw(random, split);
    const std::span<const int> read =
        example.source.empty() ? as_written(task, example.tokens) : std::span(example.source);
    all.push_back({task.vocabulary().decode(read), false, copy_halves(example), -1, {}});
  }
  return all;
}

bool knows_all(const Model& model, const std::vector<MeasuredSentence>& sentences) {
  return std::ranges::all_of(sentences,
                             [&](const MeasuredSentence& s) { return knows(model, s.text); });
}

// Tokens for a byte: the fewer, the more the model was made for such text.
double tokens_per_byte(const Model& model, const std::vector<MeasuredSentence>& sentences) {
  double tokens = 0, bytes = 0;
  for (const MeasuredSentence& s : sentences) {
    tokens += static_cast<double>(model.vocabulary->encode(s.text).size());
    bytes += static_cast<double>(s.text.size());
  }
  return tokens / bytes;
}

// As it learned to be.
Document own_document(const Model& model) {
  Document own;
  own.model = model.ref;
  own.config = model.file.config;
  own.tokenizer = model.vocabulary->tokenizer_kind();
  return own;
}

// Beginnings here and there among the sentences; without any, tokens.
std::vector<MeasuredSentence> written_after(const Model& model,
                                            const std::vector<MeasuredSentence>& sentences) {
  std::vector<MeasuredSentence> written;
  if (!SentenceWriter::can_write(own_document(model), model)) return written;
  const std::size_t count = sentences.size(), tokens = model.vocabulary->size();
  for (std::size_t i = 0; i < kTexts; ++i) {
    const auto token = static_cast<int>(i * tokens / kTexts);
    const std::string beginning =
        count ? sentences[i * count / kTexts].text : model.vocabulary->decode({{token}});
    if (knows(model, beginning)) written.push_back({beginning, true, {}, -1, {}});
  }
  return written;
}

// Of the rules' sentences those that the model knows and cuts into the fewest tokens.
std::vector<MeasuredSentence> nearest_sentences(const Model* model) {
  std::vector<MeasuredSentence> best;
  double least = 0;
  for (const BundledModel& bundled : bundled_models()) {
    const ModelRecipe& recipe = bundled_recipe(bundled.name);
    if (!recipe.training.text) continue;
    std::vector<MeasuredSentence> sentences = sentences_of(recipe, false);
    if (model && !knows_all(*model, sentences)) continue;
    const double tokens = model ? tokens_per_byte(*model, sentences) : 1;
    if (!best.empty() && tokens >= least) continue;
    least = tokens;
    best = std::move(sentences);
  }
  return best;
}

}  // namespace

std::vector<MeasuredSentence> measured_sentences(const Model* model) {
  const ModelRecipe* recipe = own_recipe(model);
  const bool own = recipe && recipe->training.text;
  if (const auto task = model && !own ? task_if_any(*model) : nullptr) return examples_of(*task);
  std::vector<MeasuredSentence> all = own ? sentences_of(*recipe, true) : nearest_sentences(model);
  std::vector<MeasuredSentence> written =
      model ? written_after(*model, all) : std::vector<MeasuredSentence>();
  if (!own && !written.empty()) return written;
  all.insert(all.end(), written.begin(), written.end());
  return all;
}

HeadMeasurement::HeadMeasurement(const Document& document, std::shared_ptr<const Model> model,
                                 RunLimits limits)
    : document_(document),
      model_(std::move(model)),
      sentences_(measured_sentences(model_.get())),
      runner_(limits),
      backend_(make_cpu_backend(1)) {
  const ModelRecipe* recipe = own_recipe(model_.get());
  if (recipe) claims_.resize(recipe->claims.size());
  writes_ = std::ranges::any_of(sentences_, &MeasuredSentence::written);
  document_.max_tokens = kDefaultMaxTokens;  // a limit for the shown sentence cuts none of these
}

// Drawn from the model's own probabilities, with the settings that it learned with.
std::string HeadMeasurement::written_text(const std::string& beginning) const {
  Document own = own_document(*model_);
  own.sentence = beginning;
  SentenceWriter writer(model_, own, {}, done_ + 1);
  std::string text = beginning;
  for (int i = 0; i < kTextTokens; ++i) {
    std::optional<std::string> longer = writer.next();
    if (!longer) break;
    text = std::move(*longer);
  }
  return text;
}

void HeadMeasurement::step() {
  const MeasuredSentence& sentence = sentences_.at(done_);
  document_.sentence = sentence.written ? written_text(sentence.text) : sentence.text;
  const RunResult run = runner_.run(document_, *backend_, model_);
  if (!run.trace) throw Error(run.message);
  if (sentence.written == writes_) add_scores(*run.trace, sentence);
  if (sentence.claim >= 0) add_claim(*run.trace, sentence);
  ++done_;
}

void HeadMeasurement::add_scores(const Trace& trace, const MeasuredSentence& sentence) {
  if (first_.empty()) first_ = document_.sentence;
  written_ += sentence.written;
  const TraceHeads heads = score_heads(trace, sentence.halves);
  means_.resize(heads.scores.size());
  for (std::size_t row = 0; row < means_.size(); ++row) {
    means_[row].resize(heads.scores[row].size());
    for (std::size_t head = 0; head < means_[row].size(); ++head)
      means_[row][head].add(heads.scores[row][head]);
  }
}

void HeadMeasurement::add_claim(const Trace& trace, const MeasuredSentence& sentence) {
  const auto c = static_cast<std::size_t>(sentence.claim);
  const HeadClaim claim = claim_on(own_recipe(model_.get())->claims[c], sentence.marked,
                                   model_->vocabulary->encode_placed(sentence.text));
  claims_[c].weight += measured_weight(claim, trace);
  ++claims_[c].count;
}

MeasuredHeads HeadMeasurement::result() const {
  MeasuredHeads result{done_, written_, first_, {}, {}};
  for (const std::vector<HeadScoreMean>& row : means_) {
    std::vector<HeadScores>& scores = result.scores.emplace_back();
    for (const HeadScoreMean& mean : row) scores.push_back(mean.scores());
  }
  for (const ClaimSum& sum : claims_) {
    const auto count = static_cast<double>(sum.count);
    result.claims.push_back(sum.count ? std::optional(sum.weight / count) : std::nullopt);
  }
  return result;
}

}  // namespace headlight
