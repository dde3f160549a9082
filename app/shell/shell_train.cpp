// The shell's part for training: the run, the marked step, and what the panel is asked for.
#include <algorithm>

#include "app/shell/shell.h"
#include "core/base/error.h"

namespace headlight {
namespace {

// Earlier runs keep fewer snapshots, so that several of them take no more than two.
constexpr std::size_t kEarlierBytes = kHistoryBytes / 4, kMaxEarlier = 4;
constexpr double kLongestTick = 0.1;  // a frame that came late does not skip a part of the film

bool has_text(const RunPlan& plan) { return !plan.recipe.task.empty() || !plan.text.empty(); }

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
      on(AskKeep{});
      return true;
    default:
      return false;
  }
}

bool Shell::is_training() const {
  const TrainPhase phase = state_.train.run.status.phase;
  return phase == TrainPhase::kRunning || phase == TrainPhase::kPreparing ||
         (sampler_ && sampler_->busy());
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
             state_.train.run.status.phase != TrainPhase::kRunning && !is_reading(train.plan)) {
    on(StartRun{});  // nothing has been learned that could be lost
  }
}

// Are the data of this plan being read? That is not begun again for every other setting.
bool Shell::is_reading(const RunPlan& plan) const {
  const RunView& run = state_.train.run;
  return run.status.phase == TrainPhase::kPreparing && run.plan && same_data(plan, *run.plan);
}

void Shell::on(const StartRun& a) {
  TrainSession& train = state_.session.train;
  if (!trainer_) {
    if (!options_.folders.runs.empty())
      run_autosave_ = std::make_unique<RunAutosave>(options_.folders.runs);
    trainer_ = std::make_unique<TrainWorker>(options_.train_threads, run_autosave_.get());
  }
  if (a.new_weights) ++train.plan.config.seed;
  const std::uint64_t before = state_.train.run.status.run;
  const bool kept = put_aside();
  const bool on_gpu = state_.session.compute == ComputeMode::kGpu;
  trainer_->start(train.plan, on_gpu && give_trainer_gpu());
  if (!kept) trainer_->forget(before);
  train.changed = train.film = false;
  train.at.reset();
  poll_train();
}

void Shell::on(const CancelRun&) {
  if (trainer_) trainer_->cancel();
}

// The run that another takes the place of stays in the chart, if it has learned something.
bool Shell::put_aside() {
  RunView& run = state_.train.run;
  if (run.curve.size() < 2) return false;
  RunHistory history(kEarlierBytes);
  for (const auto& snapshot : run.snapshots) history.add(snapshot);
  run.snapshots.assign(history.snapshots().begin(), history.snapshots().end());
  run.status.history_bytes = history.bytes();
  run.task.reset();  // its text may be large
  auto& earlier = state_.train.earlier;
  earlier.push_back(std::make_shared<const RunView>(std::move(run)));
  if (earlier.size() > kMaxEarlier) on(ForgetRun{earlier.front()->status.run});
  run = {};
  return true;
}

void Shell::on(const ForgetRun& a) {
  if (trainer_) trainer_->forget(a.run);
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

void Shell::on(const AskText&) {
  state_.session.path_typed = state_.session.train.plan.text.path.string();
  state_.session.train.ask_text = true;
}

void Shell::on(const UseText& a) {
  RunPlan plan = state_.session.train.plan;
  if (!plan.recipe.task.empty()) plan = default_plan("");
  if (a.data && *a.data != plan.data) plan = with_data(std::move(plan), *a.data);
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
  const TensorView logits = trace.tensor(trace.program().logits);
  if (logits.axes.back().size != model->vocabulary->size()) return;
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

bool Shell::poll_train() {
  if (!trainer_) return false;
  if (run_autosave_ && !said_run_autosave_) {
    const Message problem = run_autosave_->take_problem();
    said_run_autosave_ = !problem.empty();
    if (said_run_autosave_) notify(NoticeKind::kWarning, Message{"train.not_safe"}.with(problem));
  }
  RunView& run = state_.train.run;
  const std::uint64_t id = run.status.run;
  const TrainPhase phase = run.status.phase;
  const std::uint64_t saves = run.status.save.count;
  const bool had_model = run.live != nullptr;
  const Message gpu_problem = run.status.gpu_problem;
  if (!trainer_->update(run)) return false;
  // Pictures are the same each time; measured times would not be.
  if (!options_.background) run.status.tokens_per_second = run.status.seconds = 0;
  // A small run may be there before the window has seen the old one go.
  if (run.live && (!had_model || run.status.run != id)) use_run();
  const TrainStatus& now = run.status;
  const bool new_phase = now.phase != phase || now.run != id;
  // What was wrong with the last start is over.
  if (now.run != id && !train_notice_.empty()) {
    std::erase_if(state_.notices, [&](const Notice& n) { return n.message == train_notice_; });
    train_notice_ = {};
  }
  if (new_phase && (now.phase == TrainPhase::kBroken || now.phase == TrainPhase::kFailed)) {
    notify(NoticeKind::kError, now.problem);
    train_notice_ = now.problem;
  }
  if (!(now.gpu_problem == gpu_problem) && !now.gpu_problem.empty())
    notify(NoticeKind::kWarning, Message{"train.left_gpu"}.with(now.gpu_problem));
  if (now.save.count != saves) tell_save(now.save);
  if (state_.session.train.at) update_compared();  // the newest weights are shown as well
  return true;
}

}  // namespace headlight
