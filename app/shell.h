// Shell: owns AppState; one frame = input -> panels -> apply the queued actions -> recompute. Knows
// no OpenGL and no window, so that tests drive it as it is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/trace_worker.h"
#include "app/ui/commands.h"
#include "app/ui/state.h"

namespace headlight {

struct ShellOptions {
  RunLimits limits;
  int threads = 2;
  std::string backend = "eigen";
  bool background = true;  // large runs go to another thread; off: everything at once, for pictures
};

class Shell {
 public:
  Shell(Document, ShellOptions);

  const AppState& state() const { return state_; }
  /// Asks for something; done by the next apply().
  void push(Action action) { queue_.push_back(std::move(action)); }
  std::vector<Action>& queue() { return queue_; }
  /// A key press that no field takes for itself; true when it was a command.
  bool key(const Shortcut&, bool in_field);
  /// Carries out what was asked for, then brings everything that follows up to date.
  void apply();
  /// Takes in a run that was finished in the background; true when something changed.
  bool poll();
  /// Waits for the background (pictures, tests).
  void wait();

  void set_session_path(std::string path) { state_.session_path = std::move(path); }
  void notify(NoticeKind, std::string text);
  void set_look(bool dark, float scale);
  /// Opens the file when it exists; a notice says what went wrong. The document is then unchanged.
  void open(const std::string& path);
  void save(const std::string& path);

 private:
  void perform(const Action&);
  void perform(Command);
  void recompute();
  void take(RunResult, double milliseconds);
  void go_to(const std::string& tensor);
  void step_by(int direction);
  void change_layer(int layer);
  void change_head(int head);
  void settle();  // brings the session in line with the trace
  void pick_default();
  void update_difference();

  AppState state_;
  ShellOptions options_;
  TraceWorker worker_;
  std::vector<Action> queue_;
  Document computed_;  // the document that the trace was made of
  bool has_run_ = false;
  MaskSpec mask_before_causal_;
  std::string cut_notice_;
};

}  // namespace headlight
