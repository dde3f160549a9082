#include "core/train/fine_tuning.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/base/error.h"
#include "core/graph/program_memory.h"
#include "core/train/cached_predictor.h"
#include "core/train/data/next_sentence.h"
#include "core/train/heads/measured_heads.h"
#include "core/train/sampling.h"
#include "core/train/tasks/class_token.h"

namespace headlight {
namespace {

constexpr std::int64_t kSteps = 300, kWarmup = 20, kBatch = 8;
constexpr double kRateOfNew = 0.1;

// The tokenizer of a model from elsewhere is as its files say: nothing can be added.
std::shared_ptr<const Vocabulary> with_token(const Model& model,
                                             std::shared_ptr<const Vocabulary> all,
                                             Special special) {
  if (all->pieces() && !all->id_of(special))
    throw UsageError(Message{"train.from_no_special",
                             {{"name", model.name}, {"special", std::string(to_string(special))}}});
  return with_special(std::move(all), special);
}

bool says_tokens(Role role) { return role == Role::kUnembedding || role == Role::kUnembeddingBias; }

// Of a classifier: does it judge rows, so that another model's weights would mean nothing there?
bool is_new_head(const TensorSpec& spec) {
  const bool norm = spec.role == Role::kNormScale || spec.role == Role::kNormShift;
  return spec.place.section == Section::kPrediction && !norm && !says_tokens(spec.role);
}

std::string name_of(const std::string& ref) {
  return ref.starts_with(kBundledRef) ? ref.substr(kBundledRef.size())
                                      : std::filesystem::path(ref).filename().string();
}

}  // namespace

RunPlan tuning_plan(RunPlan plan, const std::string& ref, const Config& config,
                    std::int64_t context, const Vocabulary* tokens) {
  const RunPlan fresh = default_plan("", plan.data);
  const std::uint64_t seed = plan.config.seed;
  plan.settings.base = ref;
  if (judges_rows(plan.data, plan.text_options)) {
    const bool labels = plan.data == OwnData::kLabels;
    plan.config = labels ? classifier_on(config, name_of(ref), pool_on(config))
                         : pair_judge_on(config, name_of(ref), plan.text_options.masked > 0);
    plan.config.seed = seed;  // of the head
    plan.settings.schedule = fresh.settings.schedule;
    plan.settings.schedule.peak *= kRateOfNew;
    TextOptions options = fresh.text_options;
    const bool closed = plan.text_options.next_sentence;
    const int around = tokens ? classifier_frame(plan.config, *tokens, closed).size()
                              : static_cast<int>(begins_with_class(plan.config));
    options.context = static_cast<int>(context) - around;
    options.validation = plan.text_options.validation;
    options.next_sentence = plan.text_options.next_sentence;
    options.masked = plan.text_options.masked;
    if (options.next_sentence && options.context < kShortestPair)
      throw UsageError(Message{"text.next_sentence.base",
                               {{"name", name_of(ref)},
                                {"least", std::to_string(kShortestPair)},
                                {"got", std::to_string(std::max(options.context, 0))}}});
    plan.text_options = options;
    return plan;
  }
  plan.settings.batch = kBatch;
  plan.stop.steps = kSteps;
  plan.settings.schedule = fresh.settings.schedule;
  plan.settings.schedule.peak *= kRateOfNew;
  plan.settings.schedule.warmup = kWarmup;
  plan.settings.schedule.steps = kSteps;
  plan.config = without_classes(config);
  plan.config.seed = seed;  // of nothing here: a plan with new weights keeps its own
  const TextOptions& now = plan.text_options;
  TextOptions options = fresh.text_options;
  options.context = static_cast<int>(std::min<std::int64_t>(now.context, context));
  options.validation = now.validation;
  options.masked = now.masked;
  plan.text_options = options;
  return plan;
}

RunPlan untuned_plan(const RunPlan& plan) {
  RunPlan fresh = default_plan("", plan.data);
  fresh.config.seed = plan.config.seed;
  fresh.text = plan.text;
  if (plan.data == OwnData::kText) fresh.text_options.context = plan.text_options.context;
  fresh.text_options.validation = plan.text_options.validation;
  return with_objective(std::move(fresh),
                        {plan.text_options.masked, plan.text_options.next_sentence});
}

bool judges_rows(OwnData data, const TextOptions& options) {
  return kind_of(data, options) == TaskKind::kClassify;
}

std::vector<Tensor> weights_from(std::shared_ptr<const Model> model, const Config& config,
                                 const RunShape& shape) {
  ModelParameters source;
  source.use(std::move(model));
  const Program program = build_program(config, shape);
  std::vector<Tensor> weights;
  for (const TensorSpec& spec : program.tensors) {
    if (spec.kind != TensorKind::kParameter) continue;
    const std::shared_ptr<const Tensor> whole = source.parameter(spec, {});
    const auto begin = whole->data.begin();
    weights.push_back({spec.name, spec.axes, FloatBuffer(begin, begin + cell_count(spec.axes))});
  }
  return weights;
}

Config classifier_on(const Config& model, const std::string& name, PoolKind pool) {
  Config config = model;
  if (config.form == ModelForm::kTranslate || config.numbers)
    throw UsageError(Message{"train.from_no_classes", {{"name", name}}});
  config.form = ModelForm::kClasses;
  config.token_head = false;
  config.pool = pool;
  config.tied_head = false;
  config.memory = 0;
  return without_idle_options(std::move(config));
}

PoolKind pool_on(const Config& config) {
  return config.mask.is_causal() ? PoolKind::kLast : PoolKind::kMean;
}

Config without_classes(const Config& model) {
  Config config = model;
  if (!config.token_head) return config;
  config.form = ModelForm::kTokens;
  config.token_head = false;
  config.pool = PoolKind::kMean;
  return without_idle_options(std::move(config));
}

Config pair_judge_on(const Config& model, const std::string& name, bool hidden,
                     std::optional<PoolKind> pool) {
  const PoolKind own = pool_on(model);
  const PoolKind usual = own == PoolKind::kLast ? own : PoolKind::kFirst;
  Config config = classifier_on(model, name, pool.value_or(usual));
  config.segments = true;
  config.segment_rows = kSegments;
  config.token_head = hidden;
  config.tied_head = hidden && model.tied_head;
  return config;
}

std::shared_ptr<const Vocabulary> vocabulary_on(const Model& model, OwnData data,
                                                const TextOptions& options) {
  if (!judges_rows(data, options)) return model.vocabulary;
  auto all = with_token(model, model.vocabulary, Special::kPad);
  if (options.next_sentence) all = with_token(model, std::move(all), Special::kSeparator);
  return options.masked > 0 ? with_token(model, std::move(all), Special::kMask) : all;
}

std::vector<Tensor> classifier_weights(const Model& model, const Config& config,
                                       const RunShape& shape, Init init) {
  const Program program = build_program(config, shape);
  std::vector<Tensor> weights = initial_parameters(program, init, config.seed);
  for (Tensor& tensor : weights) {
    const TensorSpec& spec =
        program.tensors[static_cast<std::size_t>(program.require(tensor.name))];
    if (is_new_head(spec)) continue;
    const auto known = std::ranges::find(model.weights, tensor.name, &Tensor::name);
    // Who read one sentence learns to tell two apart, who said nothing of tokens to do so.
    const bool may_lack = spec.role == Role::kSegmentTable || says_tokens(spec.role);
    if (known == model.weights.end() && may_lack) continue;
    if (known == model.weights.end())
      throw Error(Message{"train.missing_parameter", {{"name", tensor.name}}});
    // Tables may have more rows here (new tokens) or fewer (a shorter context); the head of tokens
    // has more columns.
    const bool columns = spec.role == Role::kUnembedding;
    const auto rows = columns ? static_cast<std::size_t>(spec.axes[0].size) : 1;
    const std::size_t own = tensor.data.size() / rows, theirs = known->data.size() / rows;
    for (std::size_t r = 0; r < rows; ++r)
      std::copy_n(known->data.begin() + static_cast<std::ptrdiff_t>(r * theirs),
                  std::min(own, theirs),
                  tensor.data.begin() + static_cast<std::ptrdiff_t>(r * own));
  }
  return weights;
}

std::vector<std::string> left_out(const Model& model, const Config& config, const RunShape& shape) {
  const Program program = build_program(config, shape);
  std::vector<std::string> names;
  for (const Tensor& tensor : model.weights) {
    const TensorId id = program.find(tensor.name);
    const bool classes = config.form == ModelForm::kClasses;
    if (id < 0 || (classes && is_new_head(program.tensors[static_cast<std::size_t>(id)])))
      names.push_back(tensor.name);
  }
  return names;
}

TokenBatch written_rows(const std::shared_ptr<const Model>& model, std::int64_t rows,
                        std::int64_t positions) {
  TokenBatch batch;
  if (!CachedPredictor::can_read(*model, model->file.config)) return batch;
  std::vector<std::vector<int>> beginnings;
  for (const MeasuredSentence& sentence : measured_sentences(model.get())) {
    std::vector<int> ids = model->vocabulary->encode(sentence.text);
    ids.resize(std::min(ids.size(), static_cast<std::size_t>(positions + 1) / 2));
    if (sentence.written && !ids.empty()) beginnings.push_back(std::move(ids));
  }
  CachedPredictor predictor(model, model->file.config);
  batch.positions = positions;
  for (std::size_t b = 0; b < beginnings.size() && batch.rows < rows; ++b, ++batch.rows) {
    std::vector<int> ids = beginnings[b];
    while (std::ssize(ids) <= positions)
      ids.push_back(sample_token(predictor.logits(ids), {}, b + 1, ids.size()).id);
    batch.tokens.insert(batch.tokens.end(), ids.begin(), ids.end() - 1);
    std::fill_n(ids.begin(), beginnings[b].size(), -1);
    batch.targets.insert(batch.targets.end(), ids.begin() + 1, ids.end());
  }
  return batch;
}

}  // namespace headlight
