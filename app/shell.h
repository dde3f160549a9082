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
  void perform(const Action& action) {
    std::visit([this](const auto& a) { on(a); }, action);
  }
  void perform(Command);
  bool perform_look(Command);    // each carries out the commands of its area,
  bool perform_motion(Command);  // false for all others
  bool perform_inspect(Command);
  bool perform_habits(Command);
  bool perform_focus(Command);

  // One per action. shell.cpp: the document, what is chosen.
  void on(const DoEdit&);
  void on(const EndEdit&);
  void on(const DoCommand& a) { perform(a.command); }
  void on(const GoToStep& a) { go_to(a.tensor); }
  void on(const ChooseLayer& a) { change_layer(a.layer); }
  void on(const ChooseHead& a) { change_head(a.head); }
  void on(const CompareHead&);
  void on(const PickCell&);
  void on(const HoverCell& a) { state_.session.hovered = a.cell; }
  void on(const DismissNotice&);
  void on(const ClosePopups&);
  void on(const FocusDone&);
  void on(const Folded&);
  // shell_focus.cpp: the keyboard
  void on(const FocusOn&);
  void on(const UseFocus&);
  void on(const MoveCell&);
  bool focus_takes(const Shortcut&);
  // shell_motion.cpp
  void on(const Tick&);
  void on(const ScrubTo&);
  void on(const SetSpeed&);
  // shell_inspect.cpp: inspector, heads, mask painter
  void on(const ChooseTab&);
  void on(const GoBackTo&);
  void on(const CopyText&);
  void on(const LightTensor&);
  void on(const ChooseHeadsView&);
  void on(const ToggleLineHead&);
  void on(const ChooseBrush&);
  // shell_view.cpp: how things look
  void on(const SetView&);
  void on(const ChooseRange&);
  void on(const ChooseVision&);
  void on(const SizePanels&);
  void on(const Maximize&);
  void on(const ShowHint&);
  void on(const ChooseLanguage&);
  // shell_files.cpp: sessions, files, the palette
  void on(const OpenFile&);
  void on(const SaveFile&);
  void on(const TypePath&);
  void on(const AnswerLeaving&);
  void on(const AnswerRecovery&);
  void on(const DropFiles&);
  void on(const TypeQuery&);
  void on(const ChooseInPalette&);
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
