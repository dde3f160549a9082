#include "app/shell/controllers/keeping_controller.h"

#include <cstdio>
#include <limits>
#include <utility>

#include "core/base/error.h"
#include "core/base/utf8.h"

namespace headlight {
namespace {

constexpr double kCheckEvery = 0.5;     // seconds
constexpr double kAutosaveEvery = 2.0;  // seconds, at most
constexpr double kAgainEvery = 2.0;     // seconds, what could not be written

}  // namespace

// What cannot be kept is tried again and again, and told once; that it could be takes it back.
void KeepingController::tell_once(Message& told, const Message& problem) {
  if (!told.empty()) return;
  told = problem;
  notify(NoticeKind::kWarning, problem, {}, NoticeLife::kOutlives);
}

void KeepingController::take_back(Message& told) {
  if (told.empty()) return;
  retract(told);
  told = {};
}

// ---- settings ----

KeepingController::KeepingController(const Shared& shared, const ShellOptions& options,
                                     DocumentController& document, FilesController& files,
                                     BackgroundWriter& writer)
    : Controller(shared),
      options_(options),
      document_(document),
      files_(files),
      writer_(writer),
      autosave_folder_(options.folders.autosave) {}

float KeepingController::rescale(float screen_scale) {
  const float zoom = started_ ? state_.session.scale / screen_scale_ : stored_.zoom;
  screen_scale_ = screen_scale;
  return screen_scale * zoom;
}

void KeepingController::set_window(int width, int height, bool maximized) {
  window_maximized_ = maximized;
  if (maximized || width <= 0 || height <= 0) return;  // its size when it is not
  window_width_ = width;
  window_height_ = height;
}

Settings KeepingController::current_settings() const {
  const Session& s = state_.session;
  Settings now = stored_;
  if (window_width_ > 0) {
    now.width = window_width_;
    now.height = window_height_;
  }
  now.maximized = window_maximized_;
  now.zoom = s.scale / screen_scale_;
  now.dark = s.dark;
  now.language = s.language;
  now.sizes = s.sizes;
  now.rail_open = s.rail_open;
  now.heads_open = s.heads_open;
  now.inspector_open = s.inspector_open;
  now.range = s.range;
  now.vision = s.vision;
  now.speed = s.playback.speed;
  now.compute = s.compute_request;
  now.hints_seen = stored_.hints_seen || s.hint < 0;
  now.recent = s.recent;
  now.kept_models = s.runs.kept;
  now.kept_runs = kept_runs_;
  return now;
}

void KeepingController::keep_settings(double seconds) {
  const std::string& path = options_.folders.settings;
  if (path.empty()) return;
  const std::string problem = writer_.take_problem(path);
  if (!problem.empty()) {
    settings_failed_ = true;
    seen_ = kept_;  // so that it is tried again: the disk may have room by then
    next_settings_ = seconds + kAgainEvery;
    tell_once(told_settings_, Message{"settings.not_kept", {{"problem", problem}}});
  }
  if (!settings_failed_ && writer_.idle()) take_back(told_settings_);
  const Settings now = current_settings();
  if (now == seen_ || seconds < next_settings_) return;
  // Another window may have changed other settings meanwhile: only what changed here is new.
  if (writer_.idle()) {
    kept_ = seen_;
    const SettingsRead read = read_settings(path);
    if (read.exists && read.problem.empty()) stored_ = read.settings;
  }
  stored_ = merge_changes(stored_, seen_, now);
  seen_ = now;
  settings_failed_ = false;
  writer_.carry_out(path, [path, stored = stored_, before = kept_, now] {
    keep_changes(path, stored, before, now);
  });
}

// ---- unsaved work ----

bool KeepingController::is_autosaved(const Document& now) const {
  return autosaved_ && *autosaved_ == now && !autosave_failed_;
}

void KeepingController::keep_autosave(double seconds, const RunFolder& run) {
  if (autosave_folder_.empty()) return;
  const auto failed = [&](const std::string& problem) {
    autosave_failed_ = true;  // tried again: the disk may have room by then
    tell_once(told_autosave_, Message{"autosave.not_kept", {{"problem", problem}}});
  };
  if (place_) {
    const std::string problem = writer_.take_problem(place_->path());
    if (!problem.empty()) failed(problem);
  }
  const bool saved = state_.history.is_saved();
  if (saved || (autosaved_ && !autosave_failed_ && writer_.idle())) take_back(told_autosave_);
  if (saved) {
    if (autosaved_ && place_) writer_.remove(place_->path());
    autosaved_.reset();
    return;
  }
  Document now = state_.history.now();
  if (now.model == kRunRef) {
    if (run.awaited) return;  // its weights are not on the disk yet
    if (!run.folder.empty()) now.model = run.folder;
  }
  if (seconds < next_autosave_) return;
  if (place_ && !place_->is_there()) {
    place_.reset();
    autosave_failed_ = true;
  }
  if (is_autosaved(now)) return;
  next_autosave_ = seconds + kAutosaveEvery;
  try {
    if (!place_) place_ = std::make_unique<AutosavePlace>(autosave_folder_);
  } catch (const Error& error) {
    return failed(error.what());
  }
  autosave_failed_ = false;
  autosaved_ = std::move(now);
  writer_.write(place_->path(), [document = *autosaved_,
                                 origin = AutosaveOrigin{state_.session_path, files_.file_mark()}] {
    return autosave_text(document, origin);
  });
}

std::vector<std::string> KeepingController::start(std::int64_t wall_seconds) {
  started_ = true;
  wall_seconds_ = wall_seconds;
  kept_runs_ = stored_.kept_runs;
  seen_ = kept_ = current_settings();
  if (!autosave_folder_.empty()) {
    forget_discarded(autosave_folder_);
    FoundWork found = find_recoverable(autosave_folder_);
    recoverables_ = std::move(found.recoverable);
    for (const UnreadWork& work : found.unread) tell_unread(work);
  }
  offer_next_recovery();
  return std::exchange(kept_runs_, {});
}

void KeepingController::keep(double seconds, const std::function<RunFolder()>& run) {
  if (!started_ || seconds < next_check_) return;
  next_check_ = seconds + kCheckEvery;
  keep_settings(seconds);
  const bool of_run = !state_.history.is_saved() && state_.history.now().model == kRunRef;
  keep_autosave(seconds, of_run ? run() : RunFolder{});
}

void KeepingController::keep_now(const std::function<RunFolder()>& run) {
  next_check_ = next_autosave_ = 0;
  keep(std::numeric_limits<double>::max(), run);
  writer_.wait();
}

void KeepingController::finish(std::vector<std::string> kept_runs) {
  kept_runs_.insert(kept_runs_.end(), kept_runs.begin(), kept_runs.end());
  keep_settings(std::numeric_limits<double>::max());
  writer_.wait();
  const std::string problem = writer_.take_problem(options_.folders.settings);
  if (!problem.empty() && told_settings_.empty())
    std::fprintf(stderr, "headlight: the settings could not be kept: %s\n", problem.c_str());
  if (place_) place_->remove();
  place_.reset();
  autosaved_.reset();
  started_ = false;
}

std::vector<std::string> KeepingController::recoverable_models() const {
  std::vector<std::string> models;
  for (const Recoverable& r : recoverables_) models.push_back(r.document.model);
  return models;
}

void KeepingController::tell_unread(const UnreadWork& work) {
  notify(NoticeKind::kWarning, Message{"autosave.unread", {{"path", work.path}}}.with(work.problem),
         {{"aside", Message{"way.aside"}, PutAsideWork{work.path}}}, NoticeLife::kOutlives);
}

void KeepingController::on(const PutAsideWork& work) {
  const std::string path = discard_autosave(work.path);
  if (path.empty()) {
    if (written_at(work.path) == 0) return;  // another window did so
    return notify(NoticeKind::kError, Message{"autosave.not_aside", {{"path", work.path}}});
  }
  notify(NoticeKind::kInfo,
         Message{"autosave.aside", {{"path", path}, {"days", std::to_string(kDiscardedDays)}}});
}

void KeepingController::offer_next_recovery() {
  if (recoverables_.empty()) return;
  const Recoverable& recoverable = recoverables_.front();
  Question q;
  q.asking = Asking::kRecover;
  q.path = recoverable.origin.path;
  q.sentence = shortened(recoverable.document.sentence, 60);
  q.when = time_words(recoverable.saved_at, wall_seconds_);
  files_.ask(std::move(q));
}

// Recover, discard, later.
void KeepingController::on(const AnswerRecovery& a) {
  if (recoverables_.empty()) return;
  if (a.answer == Answer::kCancel) return recoverables_.clear();  // they are offered again
  const Recoverable recoverable = std::move(recoverables_.front());
  recoverables_.erase(recoverables_.begin());
  if (a.answer == Answer::kSecond) {
    discard_autosave(recoverable.path);
    notify(NoticeKind::kInfo,
           Message{"autosave.discarded", {{"days", std::to_string(kDiscardedDays)}}});
    return offer_next_recovery();
  }
  document_.edit(SetDocument{recoverable.document});
  files_.belong_to(recoverable.origin.path, recoverable.origin.mark);
  files_.find_missing();
  recoverables_.clear();
  // Not before it is safe under this window's own name.
  next_autosave_ = 0;
  keep_autosave(0, {});
  writer_.wait();
  const bool safe = place_ && autosaved_ && writer_.take_problem(place_->path()).empty();
  autosave_failed_ = !safe;
  if (safe || state_.history.is_saved()) remove_recoverable(recoverable);
}

}  // namespace headlight
