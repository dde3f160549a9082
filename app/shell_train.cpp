// The shell's part for training: the run, the marked step, and the weights that the sentence is run
// with.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include "app/shell.h"
#include "core/error.h"
#include "core/train/model_recipe.h"

namespace headlight {
namespace {

// Earlier runs keep fewer snapshots, so that several of them take no more than two.
constexpr std::size_t kEarlierBytes = kHistoryBytes / 4, kMostEarlier = 4;
constexpr double kLongestTick = 0.1;  // a frame that came late does not skip a part of the film

// Shown minus pinned, of every pattern that both have in one shape.
std::shared_ptr<const PatternDifferences> differences_of(const Trace& shown, const Trace& pinned) {
  auto all = std::make_shared<PatternDifferences>();
  for (const TensorSpec& spec : shown.program().tensors) {
    if (!spec.name.ends_with(".pattern")) continue;
    const TensorView own = shown.tensor(spec.name), other = pinned.find(spec.name);
    if (!other.data || other.size() != own.size()) continue;
    std::vector<float> cells(own.cells().begin(), own.cells().end());
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] -= other.data[i];
    (*all)[spec.name] = std::move(cells);
  }
  return all;
}

// "induction-2026-11-21-190507"
std::string run_name(const std::string& task) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "-%Y-%m-%d-%H%M%S", &local);
  return task + text;
}

bool has_text(const RunPlan& plan) {
  return !plan.recipe.task.empty() || !plan.text.path.empty() || !plan.text.text.empty();
}

}  // namespace

bool Shell::perform_train(Command command) {
  Session& s = state_.session;
  const TrainPhase phase = state_.train.run.status.phase;
  switch (command) {
    case Command::kTrain:
      show_training(!s.train.open);
      return true;
    case Command::kTrainPlay:
      show_training(true);
      on(PlayRun{phase != TrainPhase::kRunning});
      return true;
    case Command::kTrainStep:
      show_training(true);
      on(StepRun{});
      return true;
    case Command::kTrainSame:
    case Command::kTrainNew:
      show_training(true);
      on(StartRun{command == Command::kTrainNew});
      return true;
    case Command::kTrainFilm:
      on(PlayFilm{!s.train.film});
      return true;
    case Command::kTrainKeep:
      s.path_typed = "model-" + (state_.train.run.task ? state_.train.run.task->id() : "");
      s.train.ask_folder = true;
      return true;
    default:
      return false;
  }
}

bool Shell::is_training() const {
  const TrainPhase phase = state_.train.run.status.phase;
  return phase == TrainPhase::kRunning || phase == TrainPhase::kPreparing;
}

// While the panel is open the keys of the steps are those of the run.
bool Shell::train_takes(Command command) {
  if (!state_.session.train.open) return false;
  switch (command) {
    case Command::kPlay:
      push(DoCommand{Command::kTrainPlay});
      return true;
    case Command::kNextStep:
    case Command::kPreviousStep:
      move_mark(command == Command::kNextStep ? 1 : -1);
      return true;
    case Command::kRestartStep:
      push(MarkStep{0});
      return true;
    case Command::kSkipStep:
      push(MarkStep{});
      return true;
    default:
      return false;
  }
}

// The first time, the run of the usual task is made, so that there is something to play.
void Shell::show_training(bool open) {
  TrainSession& train = state_.session.train;
  train.open = open;
  state_.session.maximized = PanelId::kNone;
  if (!open || trainer_) return;
  train.plan = default_plan("induction");
  on(StartRun{});
}

void Shell::on(const PlanRun& a) {
  TrainSession& train = state_.session.train;
  const RunPlan before = train.plan;
  train.plan = a.plan;
  if (!trainer_ || !state_.train.run.plan) return;
  train.changed = !same_start(train.plan, *state_.train.run.plan);
  if (!train.changed) {
    if (a.plan.recipe.schedule.peak != before.recipe.schedule.peak)
      trainer_->set_rate(a.plan.recipe.schedule.peak);
    if (a.plan.recipe.clip != before.recipe.clip) trainer_->set_clip(a.plan.recipe.clip);
  } else if (state_.train.run.status.step == 0 && has_text(train.plan) &&
             state_.train.run.status.phase != TrainPhase::kRunning) {
    on(StartRun{});  // nothing has been learned that could be lost
  }
}

void Shell::on(const StartRun& a) {
  TrainSession& train = state_.session.train;
  if (!trainer_) trainer_ = std::make_unique<TrainWorker>(options_.train_threads);
  if (a.new_weights) ++train.plan.config.seed;
  put_aside();
  trainer_->start(train.plan);
  train.changed = train.film = false;
  train.at.reset();
  poll_train();
}

// The run that another takes the place of stays in the chart, if it has learned something.
void Shell::put_aside() {
  RunView& run = state_.train.run;
  if (run.curve.size() < 2) return;
  RunHistory history(kEarlierBytes);
  for (const auto& snapshot : run.snapshots) history.add(snapshot);
  run.snapshots.assign(history.snapshots().begin(), history.snapshots().end());
  run.status.history_bytes = history.bytes();
  auto& earlier = state_.train.earlier;
  earlier.push_back(std::make_shared<const RunView>(std::move(run)));
  if (earlier.size() > kMostEarlier) on(ForgetRun{earlier.front()->status.run});
  run = {};
}

void Shell::on(const ForgetRun& a) {
  auto& earlier = state_.train.earlier;
  std::erase_if(earlier, [&](const auto& run) { return run->status.run == a.run; });
  auto& pinned = state_.session.train.pinned;
  if (pinned && pinned->run == a.run) pinned.reset();
}

void Shell::on(const PlayRun& a) {
  TrainSession& train = state_.session.train;
  if (!trainer_) return;
  train.film = false;
  if (a.play) train.at.reset();
  a.play ? trainer_->play(a.until) : trainer_->pause();
}

void Shell::on(const StepRun&) {
  if (!trainer_) return;
  state_.session.train.at.reset();
  trainer_->step();
}

void Shell::on(const MarkStep& a) {
  TrainSession& train = state_.session.train;
  train.film = false;
  const auto snapshot =
      a.step ? nearest_snapshot(state_.train.run.snapshots, std::max<std::int64_t>(*a.step, 0))
             : nullptr;
  // At the end the mark follows what comes.
  if (!snapshot || snapshot == state_.train.run.snapshots.back()) return train.at.reset();
  train.at = snapshot->step;
}

// To the next or the last kept step.
void Shell::move_mark(int direction) {
  const auto& snapshots = state_.train.run.snapshots;
  if (snapshots.empty()) return;
  const std::int64_t now = state_.session.train.at.value_or(snapshots.back()->step);
  const auto after = [&](const auto& snapshot) { return snapshot->step > now; };
  auto next = std::find_if(snapshots.begin(), snapshots.end(), after);
  if (direction < 0) {
    next = std::find_if(snapshots.begin(), snapshots.end(),
                        [&](const auto& snapshot) { return snapshot->step >= now; });
    if (next == snapshots.begin()) return;
    --next;
  }
  on(MarkStep{next == snapshots.end() ? std::nullopt : std::optional((*next)->step)});
}

void Shell::on(const PlayFilm& a) {
  TrainSession& train = state_.session.train;
  train.film = a.play && state_.train.run.snapshots.size() > 1;
  train.film_clock = 0;
  if (train.film) train.at = 0;
}

// Every kept step is shown for as long: the beginning, where most happens, has most of them.
void Shell::move_film(double seconds) {
  TrainSession& train = state_.session.train;
  if (!train.film) return;
  train.film_clock += std::min(seconds, kLongestTick);
  const auto& snapshots = state_.train.run.snapshots;
  const double place = train.film_clock / kFilmSeconds * static_cast<double>(snapshots.size());
  if (place >= static_cast<double>(snapshots.size()) - 1) {
    train.film = false;
    train.at.reset();
    return;
  }
  train.at = snapshots[static_cast<std::size_t>(place)]->step;
}

void Shell::on(const PinStep& a) {
  state_.session.train.pinned = a.point;
  update_compared();
}

void Shell::on(const ChooseCurve& a) {
  state_.session.train.curve = a.curve;
  state_.session.train.logarithmic = a.logarithmic;
}

void Shell::on(const KeepRun& a) {
  if (trainer_) trainer_->save(a.folder);
}

void Shell::on(const AskText&) {
  state_.session.path_typed = state_.session.train.plan.text.path.string();
  state_.session.train.ask_text = true;
}

void Shell::on(const UseText& a) {
  RunPlan plan = state_.session.train.plan;
  if (!plan.recipe.task.empty()) plan = default_plan("");
  plan.text = {a.path, {}};
  on(PlanRun{plan});
}

void Shell::on(const SetSampling& a) {
  state_.session.train.sampling = a.sampling;
  state_.session.train.sampling_seed = a.seed;
}

void Shell::on(const GenerateToken&) {
  const std::shared_ptr<const Model> model = state_.derived.model;
  if (!model || !state_.derived.trace) return;
  const Trace& trace = *state_.derived.trace;
  const TensorView logits = trace.find("logits");
  if (!logits.data || logits.axes.back().size != model->vocabulary->size()) return;
  const auto vocab = static_cast<std::size_t>(logits.axes.back().size);
  const auto last = static_cast<std::size_t>(trace.length() - 1);
  try {
    const TrainSession& train = state_.session.train;
    const SampledToken token = sample_token({logits.data + last * vocab, vocab}, train.sampling,
                                            train.sampling_seed, last);
    std::vector<int> ids = trace.input().ids;
    ids.push_back(token.id);
    state_.history.edit(SetSentence{model->vocabulary->decode(ids)});
    ++state_.session.text_revision;
  } catch (const Error& error) {
    notify(NoticeKind::kError, error.message());
  }
}

// ---- the weights that the sentence is run with ----

std::shared_ptr<const Model> Shell::point_model(const RunPoint& point) const {
  const auto model_of = [&](const RunView& run) {
    const auto snapshot = nearest_snapshot(run.snapshots, point.step);
    return snapshot ? snapshot->model : nullptr;
  };
  if (state_.train.run.status.run == point.run) return model_of(state_.train.run);
  for (const auto& run : state_.train.earlier) {
    if (run->status.run == point.run) return model_of(*run);
  }
  return nullptr;
}

// Those of the marked step, or the newest.
std::shared_ptr<const Model> Shell::marked_model() const {
  const RunView& run = state_.train.run;
  const auto& at = state_.session.train.at;
  return at ? point_model({run.status.run, *at}) : run.live;
}

bool Shell::poll_train() {
  if (!trainer_) return false;
  RunView& run = state_.train.run;
  const std::uint64_t id = run.status.run;
  const TrainPhase phase = run.status.phase;
  const std::string saved = run.status.saved;
  const std::int64_t saved_step = run.status.saved_step;
  const bool had_model = run.live != nullptr;
  if (!trainer_->update(run)) return false;
  // Pictures are the same each time; measured times would not be.
  if (!options_.background) run.status.tokens_per_second = run.status.seconds = 0;
  if (!had_model && run.live) use_run();
  const TrainStatus& now = run.status;
  const bool new_phase = now.phase != phase || now.run != id;
  if (new_phase && (now.phase == TrainPhase::kBroken || now.phase == TrainPhase::kFailed))
    notify(NoticeKind::kError, now.problem);
  if (!now.saved.empty() && (now.saved != saved || now.saved_step != saved_step)) {
    notify(NoticeKind::kInfo,
           Message{"train.saved", {{"path", now.saved}, {"step", std::to_string(now.saved_step)}}});
  }
  if (state_.session.train.at) update_compared();  // the newest weights are shown as well
  return true;
}

// A run begins: its model is the one that is looked at, with a sentence that it can read.
void Shell::use_run() {
  const RunView& run = state_.train.run;
  for (const Message& note : run.status.notes) notify(NoticeKind::kWarning, note);
  state_.session.train.plan = *run.plan;
  set_run_model(run.live);
  const Document& before = state_.document();
  SetModel edit = choose_model(before, *run.live);
  // A part of an example, so that there is something left to say.
  if (edit.sentence && run.task->kind() == TaskKind::kNextToken && !run.examples.empty()) {
    const std::vector<int>& ids = run.examples[0].tokens;
    const std::size_t part =
        std::max<std::size_t>(ids.size() * 3 / 4, std::min<std::size_t>(ids.size(), 4));
    edit.sentence = run.task->vocabulary().decode(std::span(ids).first(part));
  }
  if (headlight::apply(before, edit) == before) return;
  state_.history.edit(edit);
  ++state_.session.text_revision;
}

// After the sentence or the weights have changed: what else is shown of the sentence.
void Shell::update_compared() {
  TrainData& data = state_.train;
  const TrainSession& train = state_.session.train;
  data.newest.reset();
  data.differences.reset();
  const bool compares = train.open && state_.document().model == kRunRef && state_.derived.trace;
  if (!compares || !train.pinned) data.pinned.reset();
  if (!compares) return;
  const auto run = [&](const std::shared_ptr<const Model>& model) {
    return model ? worker_.run_now(state_.document(), model).result.trace : nullptr;
  };
  if (train.at) data.newest = run(data.run.live);
  if (!train.pinned) return;
  if (!data.pinned || pinned_point_ != train.pinned || !(pinned_document_ == state_.document())) {
    data.pinned = run(point_model(*train.pinned));
    pinned_point_ = train.pinned;
    pinned_document_ = state_.document();
  }
  if (data.pinned) data.differences = differences_of(*state_.derived.trace, *data.pinned);
}

// At the end of the window: what has been learned since it was last saved.
void Shell::keep_run() {
  if (!trainer_ || options_.folders.runs.empty()) return;
  trainer_->pause();
  trainer_->wait();
  poll_train();
  const RunView& run = state_.train.run;
  if (!run.task || run.status.step == 0 || run.status.saved_step == run.status.step) return;
  const std::string folder = options_.folders.runs + "/" + run_name(run.task->id());
  std::error_code ignored;  // saving says what is wrong
  std::filesystem::create_directories(options_.folders.runs, ignored);
  trainer_->save(folder);
  trainer_->wait();
  poll_train();
  const TrainStatus& now = state_.train.run.status;
  if (now.saved == folder) {
    kept_runs_.push_back(folder);
    std::fprintf(stderr, "headlight: the training run was saved in %s\n", folder.c_str());
  } else {
    std::fprintf(stderr, "headlight: the training run could not be saved: %s\n",
                 say(Language::kEnglish, now.problem).c_str());
  }
}

}  // namespace headlight
