// The shell's part for what outlives the window: settings, and unsaved work after a crash.
#include "app/shell/shell.h"
#include "core/base/error.h"
#include "core/base/utf8.h"

namespace headlight {
namespace {

constexpr double kCheckEvery = 0.5;     // seconds
constexpr double kAutosaveEvery = 2.0;  // seconds, at most

}  // namespace

// ---- settings ----

void Shell::read_stored_settings() {
  if (options_.folders.settings.empty()) return;
  const SettingsRead read = read_settings(options_.folders.settings);
  stored_ = read.settings;
  Session& s = state_.session;
  s.dark = stored_.dark;
  s.language = read.exists ? stored_.language : options_.first_language;
  s.sizes = stored_.sizes;
  s.rail_open = stored_.rail_open;
  s.heads_open = stored_.heads_open;
  s.inspector_open = stored_.inspector_open;
  s.range = stored_.range;
  s.vision = stored_.vision;
  s.playback.speed = stored_.speed;
  s.compute_request = stored_.compute;
  s.recent = stored_.recent;
  s.hint = stored_.hints_seen ? -1 : 0;
  if (!read.problem.empty()) {
    notify(NoticeKind::kWarning,
           Message{"settings.unreadable",
                   {{"path", options_.folders.settings}, {"problem", read.problem}}});
  }
}

void Shell::set_screen_scale(float scale) {
  const float zoom = keeping_ ? state_.session.scale / screen_scale_ : stored_.zoom;
  screen_scale_ = scale;
  set_look(state_.session.dark, scale * zoom);
}

void Shell::set_window(int width, int height, bool maximized) {
  window_maximized_ = maximized;
  if (maximized || width <= 0 || height <= 0) return;  // its size when it is not
  window_width_ = width;
  window_height_ = height;
}

Settings Shell::current_settings() const {
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
  now.kept_runs = kept_runs_;
  return now;
}

void Shell::keep_settings() {
  const std::string& path = options_.folders.settings;
  if (path.empty()) return;
  const std::string problem = writer_.take_problem(path);
  if (!problem.empty() && !said_settings_) {
    said_settings_ = true;
    notify(NoticeKind::kWarning, Message{"settings.not_kept", {{"problem", problem}}});
  }
  const Settings now = current_settings();
  if (now == seen_) return;
  // Another window may have changed other settings meanwhile: only what changed here is new.
  if (writer_.idle()) {
    const SettingsRead read = read_settings(path);
    if (read.exists && read.problem.empty()) stored_ = read.settings;
  }
  stored_ = merge_changes(stored_, seen_, now);
  seen_ = now;
  writer_.write(path, [text = settings_text(stored_)] { return text; });
}

// ---- unsaved work ----

void Shell::keep_autosave(double seconds) {
  if (options_.folders.autosave.empty()) return;
  if (place_) {
    const std::string problem = writer_.take_problem(place_->path());
    if (!problem.empty() && !said_autosave_) {
      said_autosave_ = true;
      notify(NoticeKind::kWarning, Message{"autosave.not_kept", {{"problem", problem}}});
    }
  }
  if (state_.history.is_saved()) {
    if (autosaved_) writer_.remove(place_->path());
    autosaved_.reset();
    return;
  }
  if (seconds < next_autosave_ || (autosaved_ && *autosaved_ == state_.document())) return;
  next_autosave_ = seconds + kAutosaveEvery;
  try {
    if (!place_) place_ = std::make_unique<AutosavePlace>(options_.folders.autosave);
  } catch (const Error& error) {
    options_.folders.autosave.clear();  // it will not work the next time either
    notify(NoticeKind::kWarning, Message{"autosave.not_kept", {{"problem", error.what()}}});
    return;
  }
  autosaved_ = state_.document();
  writer_.write(place_->path(),
                [document = *autosaved_, origin = AutosaveOrigin{state_.session_path, file_mark_}] {
                  return autosave_text(document, origin);
                });
}

void Shell::start_keeping(std::int64_t wall_seconds) {
  keeping_ = true;
  wall_seconds_ = wall_seconds;
  kept_runs_ = stored_.kept_runs;
  seen_ = current_settings();
  tell_left_runs(std::exchange(kept_runs_, {}));
  if (options_.folders.autosave.empty()) return;
  recoverables_ = find_recoverable(options_.folders.autosave);
  offer_next_recovery();
}

void Shell::keep(double seconds) {
  if (!keeping_ || seconds < next_check_) return;
  next_check_ = seconds + kCheckEvery;
  keep_settings();
  keep_autosave(seconds);
}

void Shell::finish_keeping() {
  if (!keeping_) return;
  keep_run();
  keep_settings();
  writer_.wait();
  if (place_) place_->remove();
  place_.reset();
  autosaved_.reset();
  keeping_ = false;
}

void Shell::offer_next_recovery() {
  if (recoverables_.empty()) return;
  const Recoverable& recoverable = recoverables_.front();
  Question& q = state_.session.question;
  q = {};
  q.asking = Asking::kRecover;
  q.path = recoverable.origin.path;
  q.sentence = shortened(recoverable.document.sentence, 60);
  q.when = time_words(recoverable.saved_at, wall_seconds_);
}

// Recover, discard, later.
void Shell::answer_recovery(Answer answer) {
  if (recoverables_.empty()) return;
  if (answer == Answer::kCancel) return recoverables_.clear();  // they are offered again
  const Recoverable recoverable = std::move(recoverables_.front());
  recoverables_.erase(recoverables_.begin());
  if (answer == Answer::kSecond) {
    discard_recoverable(recoverable);
    return offer_next_recovery();
  }
  state_.history.end_group();
  state_.history.edit(SetDocument{recoverable.document});
  ++state_.session.text_revision;
  state_.session_path = recoverable.origin.path;
  file_mark_ = recoverable.origin.mark;
  recoverables_.clear();
  // Not before it is safe under this window's own name.
  next_autosave_ = 0;
  keep_autosave(0);
  writer_.wait();
  const bool safe = autosaved_ && writer_.take_problem(place_->path()).empty();
  if (safe || state_.history.is_saved()) discard_recoverable(recoverable);
}

}  // namespace headlight
