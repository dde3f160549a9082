#include "app/shell/controllers/training_controller.h"

#include <algorithm>

#include "app/workers/gpu.h"
#include "core/base/error.h"

namespace headlight {
namespace {

// Earlier runs keep fewer snapshots, so that several of them take no more than two.
constexpr std::size_t kEarlierBytes = kHistoryBytes / 4, kMaxEarlier = 4;
constexpr double kLongestTick = 0.1;  // a frame that came late does not skip a part of the film

bool has_text(const RunPlan& plan) { return !plan.settings.task.empty() || !plan.text.empty(); }

}  // namespace

TrainingController::TrainingController(const Shared& shared, const ShellOptions& options,
                                       TraceWorker& runs, DocumentController& document,
                                       ComputingController& computing, TrainSession& session,
                                       TrainData& data)
    : Controller(shared),
      options_(options),
      runs_(runs),
      document_(document),
      computing_(computing),
      session_(session),
      data_(data) {}

void TrainingController::on(Is<kTrainPlay>) {
  const TrainPhase phase = data_.run.status.phase;
  perform(ShowMode{Mode::kTrain});
  on(PlayRun{phase != TrainPhase::kRunning});
}

void TrainingController::on(Is<kTrainStep>) {
  perform(ShowMode{Mode::kTrain});
  on(StepRun{});
}

void TrainingController::on(Is<kTrainSame>) {
  perform(ShowMode{Mode::kTrain});
  on(StartRun{false});
}

void TrainingController::on(Is<kTrainNew>) {
  perform(ShowMode{Mode::kTrain});
  on(StartRun{true});
}

bool TrainingController::is_working() const {
  const TrainPhase phase = data_.run.status.phase;
  return phase == TrainPhase::kRunning || phase == TrainPhase::kPreparing ||
         (sampler_ && sampler_->busy()) || (grower_ && grower_->busy());
}

// The first time, the run of the usual task is made, so that there is something to play.
void TrainingController::on(const ShowMode& a) {
  TrainSession& train = session_;
  const bool open = a.mode == Mode::kTrain;
  if (!open) train.film = false;
  if (!open || trainer_) return;
  train.plan = default_plan("induction");
  start({}, false);
}

void TrainingController::on(const PlanRun& a) {
  TrainSession& train = session_;
  const RunPlan before = train.plan;
  train.plan = a.plan;
  if (!same_start(a.plan, before)) train.plan.from.clear();  // it is another run
  const bool same_source =
      a.plan.settings.task == before.settings.task && a.plan.data == before.data;
  if (!same_source) forget_start_notice();
  if (!trainer_ || !data_.run.plan) return;
  train.changed = !same_start(train.plan, *data_.run.plan);
  if (!train.changed) {
    if (a.plan.settings.schedule.peak != before.settings.schedule.peak)
      trainer_->set_rate(a.plan.settings.schedule.peak);
    if (a.plan.settings.clip != before.settings.clip) trainer_->set_clip(a.plan.settings.clip);
    if (a.plan.settings.patience != before.settings.patience)
      trainer_->set_patience(a.plan.settings.patience);
  } else if (data_.run.status.step == 0 && has_text(train.plan) &&
             data_.run.status.phase != TrainPhase::kRunning && !is_reading(train.plan)) {
    start({}, false);  // nothing has been learned that could be lost
  }
}

void TrainingController::forget_start_notice() {
  if (start_notice_.empty()) return;
  retract(start_notice_);
  start_notice_ = {};
}

// Training has a thread of its own, and on it a context of its own.
bool TrainingController::give_gpu() {
  if (trainer_->has_gpu()) return true;
  try {
    trainer_->use_gpu(computing_.new_gpu());
    return true;
  } catch (const Error& error) {
    notify(NoticeKind::kWarning, Message{"train.left_gpu"}.with(error.message()), {},
           NoticeLife::kOutlives);
    return false;
  }
}

// Are the data of this plan being read? That is not begun again for every other setting.
bool TrainingController::is_reading(const RunPlan& plan) const {
  const RunView& run = data_.run;
  return run.status.phase == TrainPhase::kPreparing && run.plan && same_data(plan, *run.plan);
}

// Without a text to learn from it is asked for.
void TrainingController::on(const StartRun& a) {
  if (!has_text(session_.plan)) return on(AskText{});
  start(a, true);
}

void TrainingController::make_trainer() {
  if (trainer_) return;
  if (!options_.folders.runs.empty())
    autosave_ = std::make_unique<RunAutosave>(options_.folders.runs);
  trainer_ = std::make_unique<TrainWorker>(options_.train_threads, autosave_.get());
}

void TrainingController::start(const StartRun& a, bool by_hand) {
  TrainSession& train = session_;
  make_trainer();
  if (a.new_weights) {
    // Of a run that begins with a model's weights only the windows of its text can be drawn anew.
    ++(train.plan.settings.base.empty() ? train.plan.config.seed : train.plan.settings.seed);
    train.plan.from.clear();
  }
  by_hand_ = by_hand;
  if (!replaced_) replaced_ = std::exchange(data_.run, {});
  const bool on_gpu = state_.session.compute == ComputeMode::kGpu;
  trainer_->start(train.plan, on_gpu && give_gpu());
  train.changed = train.film = false;
  update_run();
}

// A start has ended, one way or the other.
void TrainingController::settle_start() {
  const RunView before = *std::exchange(replaced_, std::nullopt);
  const TrainStatus& now = data_.run.status;
  const std::uint64_t run = before.status.run;
  if (run == 0) return;
  if (now.run != run) {
    if (!put_aside(before)) trainer_->forget(run);
    return;
  }
  session_.changed = !same_start(session_.plan, *data_.run.plan);
  if (now.start_problem.empty() || now.start_problem == Cancelled().message()) return;
  start_notice_ = now.start_problem;
  notify(NoticeKind::kError, start_notice_);
}

void TrainingController::on(const CancelRun&) {
  if (trainer_) trainer_->cancel();
}

// The run that another takes the place of stays in the chart, if it has learned something.
bool TrainingController::put_aside(RunView run) {
  if (run.curve.size() < 2) return false;
  RunHistory history(kEarlierBytes);
  for (const auto& snapshot : run.snapshots) history.add(snapshot);
  run.snapshots.assign(history.snapshots().begin(), history.snapshots().end());
  run.status.history_bytes = history.bytes();
  run.task.reset();  // its text may be large
  auto& earlier = data_.earlier;
  earlier.push_back(std::make_shared<const RunView>(std::move(run)));
  if (earlier.size() > kMaxEarlier) on(ForgetRun{earlier.front()->status.run});
  return true;
}

void TrainingController::on(const ForgetRun& a) {
  if (trainer_) trainer_->forget(a.run);
  auto& earlier = data_.earlier;
  std::erase_if(earlier, [&](const auto& run) { return run->status.run == a.run; });
  auto& pinned = session_.pinned;
  if (pinned && pinned->run == a.run) pinned.reset();
}

void TrainingController::on(const PlayRun& a) {
  TrainSession& train = session_;
  if (!trainer_) return;
  if (a.play) begin_learning();
  train.film = false;
  if (a.play) train.at.reset();
  a.play ? trainer_->play(a.until) : trainer_->pause();
}

void TrainingController::on(const StepRun&) {
  if (!trainer_) return;
  begin_learning();
  session_.at.reset();
  trainer_->step();
}

void TrainingController::on(const MarkStep& a) {
  TrainSession& train = session_;
  train.film = false;
  const auto snapshot =
      a.step ? nearest_snapshot(data_.run.snapshots, std::max<std::int64_t>(*a.step, 0)) : nullptr;
  // At the end the mark follows what comes.
  if (!snapshot || snapshot == data_.run.snapshots.back()) return train.at.reset();
  train.at = snapshot->step;
}

// To the next or the last kept step.
void TrainingController::on(const MoveMark& a) {
  const auto& snapshots = data_.run.snapshots;
  if (snapshots.empty()) return;
  const std::int64_t now = session_.at.value_or(snapshots.back()->step);
  const auto after = [&](const auto& snapshot) { return snapshot->step > now; };
  auto next = std::find_if(snapshots.begin(), snapshots.end(), after);
  if (a.direction < 0) {
    next = std::find_if(snapshots.begin(), snapshots.end(),
                        [&](const auto& snapshot) { return snapshot->step >= now; });
    if (next == snapshots.begin()) return;
    --next;
  }
  on(MarkStep{next == snapshots.end() ? std::nullopt : std::optional((*next)->step)});
}

void TrainingController::on(const PlayFilm& a) {
  TrainSession& train = session_;
  train.film = a.play && data_.run.snapshots.size() > 1;
  train.film_clock = 0;
  if (train.film) train.at = 0;
}

// Every kept step is shown for as long: the beginning, where most happens, has most of them.
void TrainingController::on(const Tick& a) {
  TrainSession& train = session_;
  if (!train.film) return;
  train.film_clock += std::min(a.seconds, kLongestTick);
  const auto& snapshots = data_.run.snapshots;
  const double place = train.film_clock / kFilmSeconds * static_cast<double>(snapshots.size());
  if (place >= static_cast<double>(snapshots.size()) - 1) {
    train.film = false;
    train.at.reset();
    return;
  }
  train.at = snapshots[static_cast<std::size_t>(place)]->step;
}

void TrainingController::on(const PinStep& a) {
  session_.pinned = a.point;
  update_compared();
}

void TrainingController::on(const ChooseCurve& a) {
  session_.curve = a.curve;
  session_.logarithmic = a.logarithmic;
}

void TrainingController::on(const SetSampling& a) {
  session_.sampling = a.sampling;
  session_.sampling_seed = a.seed;
}

bool TrainingController::poll() {
  std::optional<FreeSample> sample = sampler_ ? sampler_->poll() : std::nullopt;
  if (sample) data_.sample = std::move(*sample);
  const bool grown = take_growth();
  bool compared = false;
  for (const TraceTask beside : {TraceTask::kNewest, TraceTask::kPinned}) {
    if (std::optional<FinishedRun> done = runs_.poll(beside)) {
      take_compared(beside, std::move(*done));
      compared = true;
    }
  }
  const bool left = leaving_;
  const bool changed = update_run();
  finish_leaving();
  return changed || sample || grown || compared || left != leaving_;
}

void TrainingController::wait() {
  if (trainer_) trainer_->wait();
}

void TrainingController::wait_rest() {
  if (sampler_) sampler_->wait();
  if (grower_) grower_->wait();
  if (autosave_) autosave_->wait();
}

// While it is trained it is written now and then anyway.
void TrainingController::keep_safe(double seconds) {
  constexpr double kAgainEvery = 4;
  if (!trainer_ || !autosave_ || seconds < next_safe_) return;
  next_safe_ = seconds + kAgainEvery;
  if (!autosave_->busy() && autosave_->unsafe().run != 0) trainer_->keep_all();
}

void TrainingController::stop_gpu() {
  if (trainer_) trainer_->stop_gpu();
}

// Told once; taken back when all is safe again. What is so already by the time of the first look is
// not told.
void TrainingController::tell_unsafe() {
  const Message problem = autosave_->take_problem();
  const bool unsafe = !autosave_->unsafe().problem.empty();
  if (data_.not_safe.empty() && unsafe && !problem.empty()) {
    data_.not_safe = Message{"train.not_safe"}.with(problem);
    notify(NoticeKind::kWarning, data_.not_safe, {}, NoticeLife::kOutlives);
  } else if (!data_.not_safe.empty() && !unsafe) {
    retract(data_.not_safe);
    data_.not_safe = {};
  }
}

bool TrainingController::update_run() {
  if (!trainer_) return false;
  if (autosave_) tell_unsafe();
  RunView& run = data_.run;
  const std::uint64_t id = run.status.run;
  const TrainPhase phase = run.status.phase;
  const std::uint64_t saves = run.status.save.count;
  const std::uint64_t replaced = replaced_ ? replaced_->status.run : 0;
  const bool had_model = run.live != nullptr;
  const Message gpu_problem = run.status.gpu_problem;
  if (!trainer_->update(run)) return false;
  // Pictures are the same each time; measured times would not be.
  if (!options_.background) run.status.tokens_per_second = run.status.seconds = 0;
  // A small run may be there before the window has seen the old one go.
  const TrainStatus& now = run.status;
  const bool came_back = now.run != 0 && now.run == replaced;
  if (replaced_ && now.phase != TrainPhase::kPreparing) settle_start();
  if (run.live && !came_back && (!had_model || now.run != id)) take_run();
  const bool new_phase = now.phase != phase || now.run != id;
  // What was wrong with the last start is over.
  if (now.run != id && !came_back) forget_start_notice();
  if (new_phase && (now.phase == TrainPhase::kBroken || now.phase == TrainPhase::kFailed)) {
    start_notice_ = Message{"notice.problem"}.with(now.problem);
    notify(NoticeKind::kError, start_notice_);
  }
  if (new_phase && now.phase == TrainPhase::kDone && !now.stopped_early.empty())
    notify(NoticeKind::kInfo, now.stopped_early);
  if (!(now.gpu_problem == gpu_problem) && !now.gpu_problem.empty()) tell_left_gpu(now);
  if (now.save.count != saves) tell_save(now.save);
  if (session_.at) update_compared();  // the newest weights are shown as well
  return true;
}

// A card that was lost has done nothing wrong, and the run goes on by itself; one that has computed
// wrongly may have done so for a while.
void TrainingController::tell_left_gpu(const TrainStatus& now) {
  const bool wrong = now.gpu_problem.id == "gpu.wrong_since";
  std::vector<WayOn> ways;
  if (wrong) {
    ways = {{"go_on", Message{"way.go_on"}, PlayRun{true}}};
    computing_.distrust(now.gpu_problem);
  }
  notify(NoticeKind::kWarning,
         Message{wrong ? "train.wrong_gpu" : "train.left_gpu"}.with(now.gpu_problem), ways,
         NoticeLife::kOutlives);
}

}  // namespace headlight
