// Shell: owns AppState; one frame = input -> panels -> apply the queued actions -> recompute. It
// hands every action and command to the controllers whose it is, and knows no OpenGL and no window,
// so that tests drive it as it is.
#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "app/shell/computing/computing_controller.h"
#include "app/shell/continuation/continuation_controller.h"
#include "app/shell/controllers/heads_controller.h"
#include "app/shell/controllers/inspector_controller.h"
#include "app/shell/controllers/keeping_controller.h"
#include "app/shell/controllers/keyboard_controller.h"
#include "app/shell/controllers/look_controller.h"
#include "app/shell/controllers/training_controller.h"
#include "app/shell/cost/cost_controller.h"
#include "app/shell/dialogs/dialog_controller.h"
#include "app/shell/exports/export_controller.h"
#include "app/shell/labs/labs_controller.h"
#include "app/shell/runs/runs_controller.h"
#include "app/shell/spare_memory.h"
#include "core/train/heads/head_claims.h"

namespace headlight {

class Shell {
 public:
  Shell(Document, ShellOptions);

  const AppState& state() const { return state_; }
  /// Asks for something; done by the next apply().
  void push(Action action) { queue_.push_back(std::move(action)); }
  std::vector<Action>& queue() { return queue_; }
  /// A key press that no field takes for itself; true when it was a command.
  bool key(const Shortcut& key, bool in_field) { return keyboard_.press(key, in_field); }
  /// Carries out what was asked for, then brings everything that follows up to date.
  void apply();
  /// The same when a frame has been drawn: what it was to do once is done.
  void end_frame();
  /// Is a model being trained, so that there is something new many times a second?
  bool is_training() const { return training_.is_working(); }
  /// Is anything going on in the background, so that poll() should be asked soon?
  bool is_working() const;
  /// Takes in a run that was finished in the background; true when something changed.
  bool poll();
  /// Waits for the background (pictures, tests).
  void wait();

  void set_session_path(const std::string& path) { files_.set_session_path(path); }
  void notify(NoticeKind kind, const Message& message) { notices_.add(kind, message); }
  void notify(NoticeKind kind, std::string text) { notify(kind, Message::of(std::move(text))); }
  void set_run_model(std::shared_ptr<const Model> m) { computing_.set_run_model(std::move(m)); }
  /// What the window's own driver is, before the graphics card is asked for more; from then on
  /// Headlight may choose it by itself.
  void offer_gpu(GpuMaker maker, const GpuState& gpu) {
    computing_.offer_gpu(std::move(maker), gpu);
  }
  /// Before the window's context goes. What was computed stays.
  void stop_gpu();
  void set_look(bool dark, float scale) { look_.set_look(dark, scale); }
  /// The cell of a head that a bundled model's claim is about.
  void show_claim(const HeadClaim&);
  void set_language(Language language) { perform(ChooseLanguage{language}); }
  /// The screen's own scale; what the person made larger stays as much larger.
  void set_screen_scale(float scale);
  void set_window(int w, int h, bool maximized) { keeping_.set_window(w, h, maximized); }
  /// What is to go to the clipboard, once; empty: nothing.
  std::string take_copied() { return inspector_.take_copied(); }
  void open(const std::string& path) { files_.open(path); }
  bool save(const std::string& path) { return files_.save(path); }

  // ---- what outlives the window (KeepingController) ----
  const Settings& settings() const { return keeping_.settings(); }
  void start_keeping(std::int64_t wall_seconds);
  /// Once in a while, with seconds of any steady clock: notices that have been read go, what has
  /// changed is written.
  void keep(double seconds);
  void finish_keeping();
  /// Keeps what is unsaved as it is now, without finishing: the program is about to be ended.
  /// Blocks until it is on the disk.
  void keep_at_once();

 private:
  auto controllers() {
    return std::tie(document_, look_, notices_, computing_, steps_, heads_, inspector_, keyboard_,
                    continuation_, files_, keeping_, training_, runs_, dialogs_, exports_, cost_,
                    labs_);
  }
  void perform(const Action&);
  template <class Asked>
  void hand_over(const Asked&);
  void hand_over(const DoCommand&);
  void take_news();

  // What the last frame drew lives until the next one, which draws something else.
  struct Drawn {
    std::shared_ptr<const Trace> trace, newest, pinned;
    std::shared_ptr<const PatternDifferences> differences;
    std::shared_ptr<const LabResult> lab;
  };

  const ShellOptions options_;
  AppState state_;
  Drawn drawn_;
  std::vector<Action> queue_;
  TraceWorker worker_;
  Notices notices_;
  const Shared shared_;
  DocumentController document_;
  LookController look_;
  ComputingController computing_;
  StepsController steps_;
  HeadsController heads_;
  InspectorController inspector_;
  ContinuationController continuation_;
  KeyboardController keyboard_;
  FilesController files_;
  KeepingController keeping_;
  TrainingController training_;
  RunsController runs_;
  DialogController dialogs_;
  ExportController exports_;
  CostController cost_;
  LabsController labs_;
  SpareMemory memory_;
  BackgroundWriter writer_;  // last: ends first
};

}  // namespace headlight
