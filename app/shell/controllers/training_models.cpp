// The weights that the sentence is run with while the Train panel is open:
// those of the marked step or the newest, and those that they are compared with.
#include <algorithm>

#include "app/shell/controllers/training_controller.h"
#include "core/run/model_input.h"
#include "core/train/model_recipe.h"
#include "core/train/tasks/class_token.h"

namespace headlight {
namespace {

// Shown minus pinned, of every pattern that both have in one shape.
std::shared_ptr<const PatternDifferences> differences_of(const Trace& shown, const Trace& pinned) {
  auto all = std::make_shared<PatternDifferences>();
  for (const TensorSpec& spec : shown.program().tensors) {
    if (spec.role != Role::kPattern) continue;
    const TensorView own = shown.tensor(spec.name), other = pinned.find(spec.name);
    if (!other.data || other.size() != own.size()) continue;
    std::vector<float> cells(own.cells().begin(), own.cells().end());
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] -= other.data[i];
    (*all)[spec.name] = std::move(cells);
  }
  return all;
}

// Does a model of the person's own data know too little of the sentence to say something about it?
bool is_irregular(const Model& model, const std::string& sentence) {
  if (!knows(model, sentence)) return true;
  // One sentence alone is no pair to judge.
  if (model.file.task == kNextSentenceTask &&
      sentence.find(to_string(Special::kSeparator)) == std::string::npos)
    return true;
  const auto unknown = model.vocabulary->id_of(Special::kUnknown);
  if (!unknown) return false;
  const bool pair = model.file.config.form == ModelForm::kTranslate;
  const std::string source(pair ? split_pair(sentence).source : sentence);
  const std::vector<int> ids = model.vocabulary->encode(source);
  return 2 * std::count(ids.begin(), ids.end(), *unknown) > static_cast<std::ptrdiff_t>(ids.size());
}

// What an example gives the model to read; of a text a part, so that there is something left to
// say. It ends where the model learned to say something.
std::string sentence_of(const Task& task, const TaskExample& example) {
  if (!example.source.empty()) return task.vocabulary().decode(example.source);
  const std::span<const int> ids = as_written(task, example.tokens);
  if (task.kind() != TaskKind::kNextToken) return task.vocabulary().decode(ids);
  std::size_t part =
      std::max<std::size_t>(ids.size() * 3 / 4, std::min<std::size_t>(ids.size(), 4));
  while (part > 0 && part < ids.size() && example.targets[part - 1] < 0) ++part;
  return task.vocabulary().decode(ids.first(part));
}

}  // namespace

std::shared_ptr<const Model> TrainingController::point_model(const RunPoint& point) const {
  const auto model_of = [&](const RunView& run) {
    const auto snapshot = nearest_snapshot(run.snapshots, point.step);
    return snapshot ? snapshot->model : nullptr;
  };
  if (data_.run.status.run == point.run) return model_of(data_.run);
  for (const auto& run : data_.earlier) {
    if (run->status.run == point.run) return model_of(*run);
  }
  return nullptr;
}

// Those of the newest step, where none is marked. Until a new run has weights the old one's stay on
// the screen.
void TrainingController::show_marked() {
  update_preview();
  const RunView& run = data_.run;
  const std::shared_ptr<const Model> model =
      session_.at ? point_model({run.status.run, *session_.at}) : run.live;
  if (trainer_ && model) computing_.set_run_model(model);
}

// A run is there. It takes the document's place when somebody has started it, or the run before
// had it.
void TrainingController::take_run() {
  const RunView& run = data_.run;
  for (const Message& note : run.status.notes)
    notify(NoticeKind::kWarning, note, {}, NoticeLife::kOutlives);
  // What was changed while a text was read waits for the next start.
  if (!session_.changed) session_.plan = *run.plan;
  session_.at.reset();
  session_.film = false;
  computing_.set_run_model(run.live);
  if (std::exchange(by_hand_, false) || state_.history.now().model == kRunRef) adopt();
}

// Its model is the one that is looked at, with a sentence that it can read.
void TrainingController::adopt() {
  adopted_ = data_.run.status.run;
  document_.preview(std::nullopt);
  const Document& before = state_.history.now();
  const SetModel edit = run_edit(before);
  if (!(headlight::apply(before, edit) == before)) document_.edit(edit);
}

SetModel TrainingController::run_edit(const Document& before) {
  const RunView& run = data_.run;
  SetModel edit = choose_model(before, *run.live);
  // A bundled model's example is not the person's either.
  if (before.model.starts_with(kBundledRef)) {
    const std::string name = before.model.substr(kBundledRef.size());
    if (before.sentence == bundled_recipe(name).example) {
      run_sentence_ = before.sentence;
      run_task_ = name;
    }
  }
  const std::string& task = run.plan->settings.task;
  const bool own = task.empty();
  const bool strange =
      own && (before.sentence == run_sentence_ || is_irregular(*run.live, before.sentence));
  if ((edit.sentence || strange) && !run.examples.empty()) {
    const bool next = run.task->kind() == TaskKind::kNextToken;
    if (next || own) edit.sentence = sentence_of(*run.task, run.examples[0]);
  }
  // Nor is an example of another task a sentence for this one, though its words are known.
  const bool other_task = !own && task != run_task_ && before.sentence == run_sentence_;
  if (other_task && !edit.sentence) {
    const std::string example = example_sentence(*run.live);
    if (!example.empty()) edit.sentence = example;
  }
  if (edit.sentence) {
    run_sentence_ = *edit.sentence;
    run_task_ = task;
  }
  return edit;
}

// Of a run that has learned nothing: looking at it changes nothing. Who has sent it away, by
// choosing another model, is not shown it again.
void TrainingController::update_preview() {
  const RunView& run = data_.run;
  const Document& own = state_.history.now();
  const bool fresh = run.live && run.status.step == 0 && run.status.run != adopted_;
  const bool waits = !run.live && replaced_;  // another one is about to come
  if (!is_open() || own.model == kRunRef || !(fresh || waits)) {
    preview_of_.reset();
    return document_.preview(std::nullopt);
  }
  const bool sent_away = preview_of_ && !state_.preview;
  if (waits || sent_away) return;
  const PreviewOf of{run.status.run, own};
  if (preview_of_ == of) return;
  preview_of_ = of;
  document_.preview(headlight::apply(own, run_edit(own)));
}

// From now on it is no more only looked at.
void TrainingController::begin_learning() {
  const RunView& run = data_.run;
  if (run.status.phase == TrainPhase::kPreparing) {
    by_hand_ = true;
    return;
  }
  const bool sent_away = preview_of_ && !state_.preview;
  const bool fresh = run.live && run.status.step == 0 && run.status.run != adopted_;
  if (fresh && !sent_away) adopt();
}

// After the sentence or the weights have changed: what else is shown of the sentence. While another
// trace is awaited, what there is stays beside the one that is shown.
void TrainingController::update_compared() {
  TrainData& data = data_;
  const TrainSession& train = session_;
  const Document& doc = state_.document();
  const bool compares = is_open() && doc.model == kRunRef && state_.derived.trace;
  if (compares && runs_.awaits(TraceTask::kShown)) return;
  const auto forget = [&](TraceTask task, std::shared_ptr<const Trace>& trace) {
    runs_.drop(task);
    trace.reset();
  };
  const bool other_text = !(newest_document_ == doc);
  if (!compares || !train.at || other_text) forget(TraceTask::kNewest, data.newest);
  // Of newer and newer weights one run after the other comes to its end.
  const bool newer = !data.newest || newest_model_ != data.run.live;
  if (compares && train.at && newer && !runs_.awaits(TraceTask::kNewest)) {
    newest_model_ = data.run.live;
    newest_document_ = doc;
    compare(TraceTask::kNewest, newest_model_);
  }
  const bool other_point = pinned_point_ != train.pinned || !(pinned_document_ == doc);
  if (!compares || !train.pinned || other_point) forget(TraceTask::kPinned, data.pinned);
  if (compares && train.pinned && !data.pinned && !runs_.awaits(TraceTask::kPinned)) {
    pinned_point_ = train.pinned;
    pinned_document_ = doc;
    compare(TraceTask::kPinned, point_model(*train.pinned));
  }
  data.differences.reset();
  if (data.pinned) data.differences = differences_of(*state_.derived.trace, *data.pinned);
}

// At once, as long as nothing in the background would have to be waited for.
void TrainingController::compare(TraceTask task, const std::shared_ptr<const Model>& model) {
  if (!model) return;
  const RunRequest request{state_.document(), model};
  const bool at_once =
      !options_.background || !ComputingController::is_large(request.document, false);
  std::optional<FinishedRun> run = at_once ? runs_.run_now(request, task) : std::nullopt;
  if (!run) return runs_.request(request, task);
  auto& trace = task == TraceTask::kNewest ? data_.newest : data_.pinned;
  trace = std::move(run->result.trace);
}

void TrainingController::take_compared(TraceTask task, FinishedRun run) {
  auto& trace = task == TraceTask::kNewest ? data_.newest : data_.pinned;
  trace = std::move(run.result.trace);
  if (trace) update_compared();
}

// Running text is gone on with by the weights of the shown step, as of the nearest snapshot.
void TrainingController::update_sample() {
  const RunView& run = data_.run;
  const TrainSession& train = session_;
  const bool text = continues_text();
  const auto snapshot = text ? nearest_snapshot(run.snapshots, shown_step(train, run)) : nullptr;
  if (!snapshot) {
    if (!run.task) data_.sample = {};
    return;
  }
  SampleRequest request{snapshot->model, snapshot->step,     "", "",
                        train.sampling,  train.sampling_seed};
  if (state_.document().model == kRunRef) request.sentence = state_.document().sentence;
  request.start = text_start();
  if (request == sample_request_) return;
  sample_request_ = request;
  if (!sampler_) sampler_ = std::make_unique<SampleWorker>(options_.background);
  sampler_->request(std::move(request), run.status.phase != TrainPhase::kRunning);
  if (auto done = options_.background ? std::nullopt : sampler_->poll())
    data_.sample = std::move(*done);
}

// ---- what the model of a running text writes at steps of its run, so that one sees it learn ----

namespace {

// 0, 1, 2, 4, 8, …: most happens early.
constexpr std::int64_t kStepsBetweenDoubles = 1;

bool is_kept(std::int64_t step) { return is_snapshot_step(step, kStepsBetweenDoubles); }

auto first_from(std::vector<FreeSample>& growth, std::int64_t step) {
  return std::lower_bound(growth.begin(), growth.end(), step,
                          [](const FreeSample& s, std::int64_t n) { return s.step < n; });
}

// What is to be written next: the earliest step that is missing, then the newest weights.
std::shared_ptr<const Snapshot> next_snapshot(TrainData& data) {
  const auto& snapshots = data.run.snapshots;
  for (const auto& snapshot : snapshots) {
    if (!is_kept(snapshot->step) && snapshot != snapshots.back()) continue;
    const auto at = first_from(data.growth, snapshot->step);
    if (at == data.growth.end() || at->step != snapshot->step) return snapshot;
  }
  return nullptr;
}

// In its place; of the steps between only the newest stays.
void add_sample(std::vector<FreeSample>& growth, FreeSample sample) {
  sample.model.reset();  // the weights of a snapshot would outlive it
  const auto at = first_from(growth, sample.step);
  if (at != growth.end() && at->step == sample.step) {
    *at = std::move(sample);
    return;
  }
  growth.insert(at, std::move(sample));
  const std::int64_t newest = growth.back().step;
  std::erase_if(growth, [&](const auto& s) { return !is_kept(s.step) && s.step != newest; });
}

}  // namespace

bool TrainingController::continues_text() const {
  const RunView& run = data_.run;
  return is_open() && run.task && run.plan->settings.task.empty() &&
         run.task->kind() == TaskKind::kNextToken && !run.examples.empty();
}

std::string TrainingController::text_start() const {
  const std::vector<int>& ids = data_.run.examples[0].tokens;
  return data_.run.task->vocabulary().decode(
      std::span(ids).first(std::max<std::size_t>(ids.size() / 4, 1)));
}

void TrainingController::update_growth() {
  const RunView& run = data_.run;
  if (data_.growth_run != run.status.run) {
    data_.growth.clear();
    data_.growth_run = run.status.run;
  }
  if (!continues_text() || (grower_ && grower_->busy())) return;
  if (!grower_) grower_ = std::make_unique<SampleWorker>(options_.background);
  while (const auto snapshot = next_snapshot(data_)) {
    growing_run_ = run.status.run;
    grower_->request({snapshot->model, snapshot->step, "", text_start(), kGrowthSampling, 1},
                     run.status.phase != TrainPhase::kRunning);
    if (options_.background || !take_growth()) return;
  }
}

bool TrainingController::take_growth() {
  std::optional<FreeSample> written = grower_ ? grower_->poll() : std::nullopt;
  if (!written || growing_run_ != data_.growth_run) return false;
  add_sample(data_.growth, std::move(*written));
  return true;
}

}  // namespace headlight
