#include "core/train/training_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "core/graph/options/attention_options.h"
#include "core/io/plain_file.h"
#include "core/train/fine_tuning.h"
#include "core/train/optim/check_number.h"
#include "core/train/tasks/class_token.h"
#include "core/train/trainer.h"

namespace headlight {
namespace {

constexpr int kShards = 8;
constexpr std::uint64_t kMaxSettingsText = std::uint64_t{1} << 28;  // bytes of a .json

std::vector<Tensor> first_weights(const RunPlan& plan, const Task& task,
                                  std::optional<RunStart>& start) {
  if (start) return std::move(start->weights);
  const Program program = build_program(plan.config, shape_of(task, plan.config));
  return initial_parameters(program, plan.init, plan.config.seed);
}

std::unique_ptr<Learner> make_trainer(const Config& config, const RunShape& shape,
                                      std::vector<Tensor> parameters,
                                      const TrainerOptions& options) {
  return std::make_unique<Trainer>(config, shape, std::move(parameters), options);
}

TrainerOptions trainer_options(const RunPlan& plan, int threads) {
  return {plan.settings.optimizer,
          plan.settings.schedule,
          plan.settings.clip,
          kShards,
          threads,
          plan.settings.dropout,
          plan.settings.seed,
          plan.settings.checkpointing,
          plan.settings.frozen,
          plan.settings.storage};
}

// Who fills holes or judges a whole row looks both ways.
void set_form(Config& config, TaskKind kind) {
  config.form = form_of(kind);
  if (config.form != ModelForm::kClasses) config.layers = std::max(config.layers, 1);
  if (config.form != ModelForm::kTokens) config.memory = 0;
  if (config.form != ModelForm::kClasses) config.token_head = false;
  const bool next = kind == TaskKind::kNextToken || kind == TaskKind::kTranslate;
  config.mask.kind = next ? MaskKind::kCausal : MaskKind::kNone;
  config.numbers = kind == TaskKind::kNumbers;
  if (config.numbers || config.form == ModelForm::kTranslate) config.segments = false;
  if (!config.numbers) config.components = 0;
  config = without_idle_options(std::move(config));
}

// One number at a time: nothing to mix, no places, and experts whose curves can be drawn because
// nothing but the head's matrix stands behind them.
void suit_numbers(RunPlan& plan) {
  Config& c = plan.config;
  c.layers = 1;
  c.d_model = c.d_hidden = 16;
  c.mixer = MixerKind::kNone;
  c.positions = PositionKind::kNone;
  c.norm = NormKind::kNone;
  c.residual = false;
  drop_unfit_options(c);
  c.experts = 2;
  if (plan.settings.task == "branches") {
    c.experts = 0;
    c.components = 3;
  }
  plan.init = Init::kGlorot;
  plan.settings.schedule.peak = 1e-2;
  plan.stop.steps = plan.settings.schedule.steps = 1500;
}

// A task whose examples are judged by few of their words: foci show which, as in the bundled model.
void suit_classes(Config& c) {
  c.pool = PoolKind::kFoci;
  c.foci = 3;
  c.pool_hidden = 16;
  c.foci_penalty = 0.1;
}

RunStart checkpoint_start(const RunPlan& plan) {
  Checkpoint from = load_checkpoint(plan.from, true);
  if (!from.training) throw Error(Message{"train.no_resume", {{"path", plan.from.string()}}});
  RunStart start{std::move(from.weights), std::move(from.training->optimizer), {}, {}};
  naming_file(plan.from / kTrainFile, [&] {
    RunSettings ignored;
    parse_train(from.training->json, ignored, start.state);
  });
  return start;
}

bool is_table_of_classes(const Task& task) {
  return task.kind() == TaskKind::kClassify && task.rows(Split::kTraining) > 0;
}

// A decoder alone that learned pairs.
bool joins_pairs(const ModelFile& model) {
  return model.task == "pairs" && model.config.form == ModelForm::kTokens;
}

ModelFile file_of(const RunPlan& plan, const Task& task) {
  return model_file(plan.config, shape_of(task, plan.config), &task);
}

}  // namespace

RunPlan with_data(RunPlan plan, OwnData data) {
  plan = with_next_sentence(std::move(plan), false);
  plan.data = data;
  plan.text_options = default_options(data);
  plan.settings.base.clear();
  plan.settings.by_length = data != OwnData::kText;
  set_form(plan.config, kind_of(data));
  return plan;
}

RunPlan with_joined_pairs(RunPlan plan, bool joined) {
  plan.text_options.joined = joined;
  set_form(plan.config, kind_of(plan.data, plan.text_options));
  return plan;
}

RunPlan with_objective(RunPlan plan, const Objective& to) {
  TextOptions& options = plan.text_options;
  const bool pairs = to.next_sentence;
  // Words say more of what a sentence is about than letters do.
  if (pairs && options.cut == TextCut::kCharacters) options.cut = TextCut::kWordPiece;
  if (pairs != options.next_sentence || pairs != plan.config.tells_sentences()) {
    plan.config.segments = pairs;
    plan.config.segment_rows = kSegments;
    plan.config.pool = pairs ? PoolKind::kFirst : PoolKind::kMean;
  }
  options.masked = to.masked;
  options.next_sentence = pairs;
  plan.config.token_head = pairs && to.masked > 0;
  set_form(plan.config, kind_of(plan.data, options));
  return plan;
}

RunPlan default_plan(std::string_view task, OwnData data) {
  RunPlan plan;
  plan.settings.task = task;
  plan.settings.seed = 7;
  plan.settings.clip = 1;
  plan.settings.schedule = {ScheduleKind::kCosine, 2e-3, 0, 100, plan.stop.steps};
  plan.config.positions = PositionKind::kLearned;
  plan.data = data;
  plan.text_options = default_options(data);
  plan.settings.by_length = task.empty() && data != OwnData::kText;
  set_form(plan.config, task.empty() ? kind_of(data) : task_info(task).kind);
  if (plan.config.numbers) suit_numbers(plan);
  if (!task.empty() && plan.config.form == ModelForm::kClasses) suit_classes(plan.config);
  return plan;
}

bool same_data(const RunPlan& a, const RunPlan& b) {
  const TextOptions &x = a.text_options, &y = b.text_options;
  return a.settings.task.empty() && b.settings.task.empty() && a.data == b.data &&
         a.text.path == b.text.path && a.text.text == b.text.text && x.cut == y.cut &&
         x.vocabulary == y.vocabulary && x.context == y.context && x.validation == y.validation &&
         x.known == y.known && x.joined == y.joined && x.masked == y.masked &&
         x.next_sentence == y.next_sentence && a.settings.base == b.settings.base;
}

bool same_start(const RunPlan& a, const RunPlan& b) {
  const auto fixed = [](const RunPlan& plan) {
    RunSettings settings = plan.settings;
    settings.schedule.peak = settings.schedule.floor = settings.clip = 0;
    settings.patience = 0;
    return train_text(settings, {});
  };
  const bool own = a.settings.task.empty();
  return a.config == b.config && a.init == b.init && fixed(a) == fixed(b) &&
         (!own || same_data(a, b));
}

RunPlan resume_plan(const std::filesystem::path& folder) {
  const auto read = [&](std::string_view name, const auto& parse) {
    return naming_file(folder / name,
                       [&] { return parse(PlainFile(folder / name, kMaxSettingsText).all()); });
  };
  std::error_code ignored;
  if (!std::filesystem::exists(folder / kTrainFile, ignored))
    throw Error(Message{"train.no_resume", {{"path", folder.string()}}});
  const ModelFile model = read(kConfigFile, parse_model);
  RunSettings settings;
  TrainState state;
  read(kTrainFile, [&](const std::string& text) { parse_train(text, settings, state); });
  RunPlan plan = default_plan(settings.task);
  if (settings.task.empty()) {
    const bool next_sentence = model.task == kNextSentenceTask;
    const bool labels = !model.classes.empty() && !next_sentence, joined = joins_pairs(model);
    const bool pairs = model.source > 0 || joined;
    plan = with_data(std::move(plan), labels  ? OwnData::kLabels
                                      : pairs ? OwnData::kPairs
                                              : OwnData::kText);
    plan.text_options.joined = joined;
    plan.text_options.next_sentence = next_sentence;
    const int masked = settings.text ? settings.text->masked : kMaskedShare;
    if (model.kind == "masked" || model.config.token_head)
      plan.text_options.masked = masked > 0 ? masked : kMaskedShare;
    plan.text_options.known =
        std::make_shared<Vocabulary>(read(kTokenizerFile, Vocabulary::from_json));
    plan.text_options.cut = plan.text_options.known->cut();
    plan.text_options.known_classes = model.classes;
    const bool judges = labels || next_sentence;
    const RowFrame frame =
        judges ? classifier_frame(model.config, *plan.text_options.known, next_sentence)
               : RowFrame{};
    plan.text_options.context = std::max(static_cast<int>(model.context) - frame.size(), 1);
  }
  plan.settings = settings;
  plan.config = model.config;
  // A run that has come to its end goes on for as long again.
  plan.stop.steps = settings.schedule.steps > state.step ? settings.schedule.steps
                                                         : state.step + settings.schedule.steps;
  plan.from = folder;
  return plan;
}

std::optional<RunStart> plan_start(const RunPlan& plan, const Task& task) {
  std::optional<RunStart> start;
  if (!plan.from.empty()) start = checkpoint_start(plan);
  if (plan.settings.base.empty()) return start;
  try {
    const std::shared_ptr<const Model> base = load_model(plan.settings.base);
    const RunShape shape = shape_of(task, plan.config);
    if (!start && task.kind() == TaskKind::kClassify)
      start = RunStart{classifier_weights(*base, plan.config, shape, plan.init), {}, {}, {}};
    if (!start) start = RunStart{weights_from(base, plan.config, shape), {}, {}, {}};
    if (task.kind() == TaskKind::kNextToken)
      start->old_text = written_rows(base, kOldTextRows, task.context());
  } catch (const Error&) {
    if (!start) throw;
  }
  return start;
}

LoadedTask make_plan_task(const RunPlan& plan, const ProgressFunction& progress) {
  if (!plan.settings.task.empty())
    return {make_task(plan.settings.task, plan.settings.task_options), {}};
  TextOptions options = plan.text_options;
  if (!plan.settings.base.empty() && !options.known) {
    const std::shared_ptr<const Model> base = load_model(plan.settings.base);
    options.known = vocabulary_on(*base, plan.data, options);
    options.cut = options.known->cut();
    // The plan may have been made without its tokenizer, which may put more around a row than
    // [CLS].
    if (judges_rows(plan.data, options)) {
      const RowFrame frame = classifier_frame(plan.config, *options.known, options.next_sentence);
      const int most = std::max(static_cast<int>(base->file.context) - frame.size(), 1);
      const int longest = options.context > 0 ? options.context : kLongestRow;
      if (longest > most) options.context = most;
    }
  }
  return load_own_task(plan.data, plan.text, options, progress);
}

TrainingRun::TrainingRun(RunPlan plan, std::shared_ptr<const Task> task, int threads,
                         std::size_t history_bytes, const LearnerFactory& learner,
                         std::optional<RunStart> start)
    : plan_(std::move(plan)),
      task_(std::move(task)),
      batches_(training_batches(plan_.config, task_, plan_.settings.batch, plan_.settings.seed,
                                plan_.settings.by_length)),
      accumulated_(static_cast<std::size_t>(plan_.settings.accumulation)),
      learner_((learner ? learner : make_trainer)(plan_.config, shape_of(*task_, plan_.config),
                                                  first_weights(plan_, *task_, start),
                                                  trainer_options(plan_, threads))),
      probe_(plan_.config, task_, plan_.settings.seed, kProbeExamples),
      early_(plan_.settings.patience),
      history_(history_bytes) {
  plan_.settings.task_options = task_->options();  // defaults may change, a run may not
  if (early_.patience() > 0 && !task_->has(Split::kValidation))
    throw UsageError(Message{"train.patience_validation"});
  if (task_->has(Split::kValidation) && is_table_of_classes(*task_)) {
    validation_ =
        measured_rows(*task_, plan_.config, Split::kValidation, kTableRows,
                      static_cast<std::size_t>(kValidationRows), plan_.settings.by_length);
  } else if (task_->has(Split::kValidation) && plan_.config.memory > 0) {
    validation_ = measured_segments(task_, Split::kValidation, kValidationRows);
  } else if (task_->has(Split::kValidation)) {
    TaskBatches source(task_, kValidationRows, plan_.settings.seed, Split::kValidation);
    validation_ = {source.next()};
  }
  plan_.from.clear();  // started again, it begins at its beginning
  if (start) old_text_ = std::move(start->old_text);
  const bool goes_on = start && (start->state.step > 0 || !start->optimizer.empty());
  if (goes_on) {
    early_.restore(start->state, this->learner().parameters());
    restore_run(*learner_, start->state, start->optimizer);
    batches_->restore(start->state.data);
    state_ = start->state;
  }
  measure(!goes_on);
}

ValidationPoint TrainingRun::measured(std::span<const TokenBatch> batches) {
  const Evaluation found = evaluate_all(*learner_, batches);
  ValidationPoint point{state_.step, found.loss, found.accuracy()};
  point.hidden_loss = found.hidden.loss;
  point.hidden_accuracy = found.hidden.accuracy();
  const std::size_t classes = task_->classes().size();
  if (!found.chosen.empty() && classes <= kMostConfusion)
    point.confusion = confusion_of(batches, found.chosen, classes);
  return point;
}

// With the weights as they are now. What a run that goes on begins with has been weighed before.
void TrainingRun::measure(bool weighed) {
  if (state_.step % kValidateEvery == 0) {
    if (!validation_.empty()) {
      const ValidationPoint point = measured(validation_);
      history_.add(point);
      if (weighed) early_.measured(state_.step, {point.loss, point.accuracy}, learner());
    }
    if (old_text_.rows > 0) history_.add_old(measured({&old_text_, 1}));
  }
  if (history_.wants(state_.step) || history_.snapshots().empty()) take_snapshot();
}

void TrainingRun::take_snapshot() {
  const auto kept = history_.snapshots();
  if (!kept.empty() && kept.back()->step == state_.step) return;
  history_.add(std::make_shared<const Snapshot>(
      Snapshot{state_.step, model_of(learner().parameters()), probe_.run(learner().parameters())}));
}

TrainStep TrainingRun::step() {
  for (TokenBatch& batch : accumulated_) {
    batch = batches_->next();
    padding_.add(batch);
  }
  const TrainStep step = learner_->step(accumulated_);
  broken_ = step.broken();
  if (broken_) return step;
  state_.step = step.step + 1;
  state_.data = batches_->state();
  history_.add(step);
  measure();
  return step;
}

void TrainingRun::move_to_processor(int threads) {
  const std::span<const Tensor> weights = learner().parameters();
  TrainerOptions options = learner_->options();
  options.threads = threads;
  auto next =
      make_trainer(plan_.config, learner_->shape(), {weights.begin(), weights.end()}, options);
  const Optimizer& before = learner().optimizer();
  next->optimizer().restore(before.steps(), before.state());
  next->restore_memory(learner_->memory());
  learner_ = std::move(next);
  if (state_.step > 0) batches_->restore(state_.data);
}

bool TrainingRun::finished() const {
  const StopRule& stop = plan_.stop;
  if (stopped_early() || (stop.steps > 0 && state_.step >= stop.steps)) return true;
  const auto points = history_.validation();
  return stop.loss > 0 && !points.empty() && points.back().loss <= stop.loss;
}

void TrainingRun::set_rate(double peak) {
  Schedule schedule = learner_->options().schedule;
  schedule.peak = peak;
  schedule.floor = std::min(schedule.floor, peak);
  validate(schedule);
  plan_.settings.schedule = learner_->options().schedule = schedule;
}

void TrainingRun::set_patience(std::int64_t measurements) {
  plan_.settings.patience = measurements;
  early_.set_patience(measurements);
}

void TrainingRun::set_clip(double norm) {
  check_clip(norm);
  plan_.settings.clip = learner_->options().clip = norm;
}

std::int64_t TrainingRun::model_step() const {
  return stopped_early() && early_.best() ? early_.best()->step : state_.step;
}

std::int64_t TrainingRun::tokens_per_step() const {
  const auto made = static_cast<std::int64_t>(history_.curve().size());
  if (plan_.settings.by_length && made > 0) return padding_.cells / made;
  return plan_.settings.batch * plan_.settings.accumulation * task_->context();
}

std::shared_ptr<const Model> TrainingRun::model() const {
  return model_of(model_step() != state_.step ? early_.weights() : learner().parameters());
}

std::shared_ptr<const Model> TrainingRun::model_of(std::span<const Tensor> weights) const {
  auto model = std::make_shared<Model>();
  model->ref = "run";
  model->name = task_->id();
  model->file = file_of(plan_, *task_);
  model->vocabulary = task_->shared_vocabulary();
  model->weights.assign(weights.begin(), weights.end());
  return model;
}

RunCheckpoint TrainingRun::checkpoint() const {
  TrainState state = state_;
  if (const auto points = history_.validation(); !points.empty())
    state.score = {points.back().loss, points.back().accuracy};
  early_.tell(state);
  return checkpoint_of(file_of(plan_, *task_), task_->vocabulary().to_json(), *learner_,
                       plan_.settings, state, early_.weights());
}

}  // namespace headlight
