// Keeping: what outlives the window, settings, and unsaved work after a crash.
#pragma once

#include <functional>

#include "app/shell/autosave.h"
#include "app/shell/controllers/files_controller.h"
#include "app/shell/shell_options.h"

namespace headlight {

/// Where the run that is being trained lies on the disk.
struct RunFolder {
  std::string folder;    // "": nowhere
  bool awaited = false;  // it is being written for the first time
};

class KeepingController : public Controller {
 public:
  KeepingController(const Shared&, const ShellOptions&, DocumentController&, FilesController&,
                    BackgroundWriter&);

  void restore(const Settings& stored) { stored_ = stored; }
  /// The remembered settings.
  const Settings& settings() const { return stored_; }
  /// From now on what changes is remembered, and unsaved work of windows that have gone is on
  /// offer. `wall_seconds` since 1970. The folders of training runs that the last window has told
  /// of.
  std::vector<std::string> start(std::int64_t wall_seconds);
  bool started() const { return started_; }
  /// The models of unsaved work that is on offer, by their refs.
  std::vector<std::string> recoverable_models() const;
  /// Once in a while, with seconds of any steady clock: writes what has changed. `run` is asked
  /// where the weights of a document lie whose model is the run that is being trained.
  void keep(double seconds, const std::function<RunFolder()>& run);
  /// The same at once; blocks until it is on the disk.
  void keep_now(const std::function<RunFolder()>& run);
  /// At a clean end: writes the rest, waits for it, removes the autosave. The next window tells of
  /// the training runs that were kept.
  void finish(std::vector<std::string> kept_runs);
  /// How large everything is on a screen of this scale.
  float rescale(float screen_scale);
  void set_window(int width, int height, bool maximized);

  void on(const AnswerRecovery&);
  void on(const PutAsideWork&);

 private:
  void tell_unread(const UnreadWork&);
  void offer_next_recovery();
  Settings current_settings() const;
  void keep_settings(double seconds);
  void keep_autosave(double seconds, const RunFolder&);
  bool is_autosaved(const Document&) const;
  void tell_once(Message& told, const Message& problem);
  void take_back(Message& told);

  const ShellOptions& options_;
  DocumentController& document_;
  FilesController& files_;
  BackgroundWriter& writer_;
  std::string autosave_folder_;
  Settings stored_, seen_, kept_;  // as remembered; as last compared with; as surely written
  float screen_scale_ = 1;
  int window_width_ = 0, window_height_ = 0;
  bool window_maximized_ = false;
  bool started_ = false, settings_failed_ = false, autosave_failed_ = false;
  Message told_settings_, told_autosave_;  // what is wrong now, as it was told
  double next_check_ = 0, next_settings_ = 0, next_autosave_ = 0;
  std::int64_t wall_seconds_ = 0;
  std::vector<Recoverable> recoverables_;
  std::optional<Document> autosaved_;
  std::unique_ptr<AutosavePlace> place_;
  std::vector<std::string> kept_runs_;  // to be told at the next start
};

}  // namespace headlight
