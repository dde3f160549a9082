#include "core/train/training_run.h"

#include <cmath>

#include "core/base/error.h"
#include "core/graph/program_memory.h"
#include "core/io/atomic_file.h"
#include "core/train/fine_tuning.h"
#include "core/train/optim/check_number.h"
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
          plan.settings.frozen};
}

// Who fills holes or judges a whole row looks both ways.
void set_form(Config& config, TaskKind kind) {
  config.form = form_of(kind);
  if (config.form != ModelForm::kClasses) config.layers = std::max(config.layers, 1);
  if (config.form != ModelForm::kTokens) config.memory = 0;
  const bool next = kind == TaskKind::kNextToken || kind == TaskKind::kTranslate;
  config.mask.kind = next ? MaskKind::kCausal : MaskKind::kNone;
  config.numbers = kind == TaskKind::kNumbers;
  if (!config.numbers) config.components = 0;
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
  RunSettings ignored;
  parse_train(from.training->json, ignored, start.state);
  return start;
}

ModelFile file_of(const RunPlan& plan, const Task& task) {
  return model_file(plan.config, shape_of(task, plan.config), &task);
}

}  // namespace

RunPlan with_data(RunPlan plan, OwnData data) {
  plan.data = data;
  plan.text_options = default_options(data);
  plan.settings.base.clear();
  set_form(plan.config, kind_of(data));
  return plan;
}

RunPlan with_masked(RunPlan plan, int masked) {
  plan.text_options.masked = masked;
  set_form(plan.config, kind_of(plan.data, masked));
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
         x.masked == y.masked && x.known == y.known && a.settings.base == b.settings.base;
}

bool same_start(const RunPlan& a, const RunPlan& b) {
  const auto fixed = [](const RunPlan& plan) {
    RunSettings settings = plan.settings;
    settings.schedule.peak = settings.schedule.floor = settings.clip = 0;
    return train_text(settings, {});
  };
  const bool own = a.settings.task.empty();
  return a.config == b.config && a.init == b.init && fixed(a) == fixed(b) &&
         (!own || same_data(a, b));
}

RunPlan resume_plan(const std::filesystem::path& folder) {
  const auto text = [&](const char* name) { return read_file(folder / name, kMaxSettingsText); };
  std::error_code ignored;
  if (!std::filesystem::exists(folder / "train.json", ignored))
    throw Error(Message{"train.no_resume", {{"path", folder.string()}}});
  const ModelFile model = parse_model(text("config.json"));
  RunSettings settings;
  TrainState state;
  parse_train(text("train.json"), settings, state);
  RunPlan plan = default_plan(settings.task);
  if (settings.task.empty()) {
    const bool labels = !model.classes.empty(), pairs = model.source > 0;
    plan = with_data(std::move(plan), labels  ? OwnData::kLabels
                                      : pairs ? OwnData::kPairs
                                              : OwnData::kText);
    const int masked = settings.text ? settings.text->masked : kMaskedShare;
    if (model.kind == "masked") plan.text_options.masked = masked > 0 ? masked : kMaskedShare;
    plan.text_options.known =
        std::make_shared<Vocabulary>(Vocabulary::from_json(text("tokenizer.json")));
    plan.text_options.cut = plan.text_options.known->cut();
    plan.text_options.known_classes = model.classes;
    const int before = begins_with_class(model.config) ? 1 : 0;
    plan.text_options.context = static_cast<int>(model.context) - before;
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
    if (!start)
      start = RunStart{weights_from(base, plan.config, shape_of(task, plan.config)), {}, {}, {}};
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
    options.known = load_model(plan.settings.base)->vocabulary;
    options.cut = options.known->cut();
  }
  return load_own_task(plan.data, plan.text, options, progress);
}

TrainingRun::TrainingRun(RunPlan plan, std::shared_ptr<const Task> task, int threads,
                         std::size_t history_bytes, const LearnerFactory& learner,
                         std::optional<RunStart> start)
    : plan_(std::move(plan)),
      task_(std::move(task)),
      batches_(training_batches(plan_.config, task_, plan_.settings.batch, plan_.settings.seed)),
      accumulated_(static_cast<std::size_t>(plan_.settings.accumulation)),
      learner_((learner ? learner : make_trainer)(plan_.config, shape_of(*task_, plan_.config),
                                                  first_weights(plan_, *task_, start),
                                                  trainer_options(plan_, threads))),
      probe_(plan_.config, task_, plan_.settings.seed, kProbeExamples),
      history_(history_bytes) {
  plan_.settings.task_options = task_->options();  // defaults may change, a run may not
  if (task_->has(Split::kValidation) && plan_.config.memory > 0) {
    validation_ = measured_segments(task_, Split::kValidation, kValidationRows);
  } else if (task_->has(Split::kValidation)) {
    TaskBatches source(task_, kValidationRows, plan_.settings.seed, Split::kValidation);
    validation_ = {source.next()};
  }
  plan_.from.clear();  // started again, it begins at its beginning
  if (start) old_text_ = std::move(start->old_text);
  const bool goes_on = start && (start->state.step > 0 || !start->optimizer.empty());
  if (goes_on) {
    restore_run(*learner_, start->state.step, start->optimizer);
    batches_->restore(start->state.data);
    state_ = start->state;
  }
  measure();
}

ValidationPoint TrainingRun::measured(std::span<const TokenBatch> batches) {
  const Evaluation found = evaluate_all(*learner_, batches);
  const auto counted = static_cast<double>(found.counted);
  return {state_.step, found.loss,
          found.counted > 0 ? static_cast<double>(found.correct) / counted : 0};
}

// With the weights as they are now.
void TrainingRun::measure() {
  if (state_.step % kValidateEvery == 0) {
    if (!validation_.empty()) history_.add(measured(validation_));
    if (old_text_.rows > 0) history_.add_old(measured({&old_text_, 1}));
  }
  if (history_.wants(state_.step) || history_.snapshots().empty()) take_snapshot();
}

void TrainingRun::take_snapshot() {
  const auto kept = history_.snapshots();
  if (!kept.empty() && kept.back()->step == state_.step) return;
  history_.add(std::make_shared<const Snapshot>(
      Snapshot{state_.step, model(), probe_.run(learner().parameters())}));
}

TrainStep TrainingRun::step() {
  for (TokenBatch& batch : accumulated_) batch = batches_->next();
  const TrainStep step = learner_->step(accumulated_);
  broken_ = !std::isfinite(step.loss) || !std::isfinite(step.gradient_norm);
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
  if (stop.steps > 0 && state_.step >= stop.steps) return true;
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

void TrainingRun::set_clip(double norm) {
  check_clip(norm);
  plan_.settings.clip = learner_->options().clip = norm;
}

std::int64_t TrainingRun::tokens_per_step() const {
  return plan_.settings.batch * plan_.settings.accumulation * task_->context();
}

std::shared_ptr<const Model> TrainingRun::model() const {
  auto model = std::make_shared<Model>();
  model->ref = "run";
  model->name = task_->id();
  model->file = file_of(plan_, *task_);
  model->vocabulary = task_->shared_vocabulary();
  const std::span<const Tensor> weights = learner().parameters();
  model->weights.assign(weights.begin(), weights.end());
  return model;
}

RunCheckpoint TrainingRun::checkpoint() const {
  TrainState state = state_;
  if (const auto points = history_.validation(); !points.empty())
    state.score = {points.back().loss, points.back().accuracy};
  return checkpoint_of(file_of(plan_, *task_), task_->vocabulary().to_json(), *learner_,
                       plan_.settings, state);
}

}  // namespace headlight
