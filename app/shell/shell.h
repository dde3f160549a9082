// Shell: owns AppState; one frame = input -> panels -> apply the queued actions -> recompute. Knows
// no OpenGL and no window, so that tests drive it as it is.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/shell/autosave.h"
#include "app/shell/settings.h"
#include "app/ui/state/commands.h"
#include "app/ui/state/state.h"
#include "app/workers/background_writer.h"
#include "app/workers/run_autosave.h"
#include "app/workers/sample_worker.h"
#include "app/workers/trace_worker.h"
#include "app/workers/train_worker.h"

namespace headlight {

struct ShellOptions {
  RunLimits limits;
  int threads = 2;
  int train_threads = 2;
  std::string backend = "cpu";
  BackendMaker make_backend = nullptr;           // null: the backend of that name
  Language first_language = Language::kEnglish;  // of a first start, without stored settings
  bool background = true;  // large runs go to another thread; off: everything at once, for pictures
  ComputeMode compute = ComputeMode::kCpu;  // to begin with
  GpuMaker make_gpu;                        // null: one without a window
  UserFolders folders;  // where settings and unsaved work are kept; empty: nowhere
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
  /// Is a model being trained, so that there is something new many times a second?
  bool is_training() const;
  /// Is anything going on in the background, so that poll() should be asked soon?
  bool is_working() const;
  /// Takes in a run that was finished in the background; true when something changed.
  bool poll();
  /// Waits for the background (pictures, tests).
  void wait();

  /// The file that the document came from, or that Ctrl+S will make.
  void set_session_path(const std::string& path);
  void notify(NoticeKind, const Message&);
  void notify(NoticeKind kind, std::string text) { notify(kind, Message::of(std::move(text))); }
  /// The model of the training run that the document chooses as "run"; null: there is none. What
  /// it computes is brought up to date by the next apply().
  void set_run_model(std::shared_ptr<const Model> model) { run_model_ = std::move(model); }
  /// What the window's own driver is, before the graphics card is asked for more; from then on
  /// Headlight may choose it by itself.
  void offer_gpu(GpuMaker, const GpuState&);
  /// Before the window's context goes. What was computed stays.
  void stop_gpu();
  void set_look(bool dark, float scale);
  void set_language(Language language) { speak(language); }
  /// The screen's own scale; what the person made larger stays as much larger.
  void set_screen_scale(float scale);
  void set_window(int width, int height, bool maximized);
  /// What is to go to the clipboard, once; empty: nothing.
  std::string take_copied() { return std::exchange(state_.session.copied, {}); }
  /// Opens the file when it exists; a notice says what went wrong. The document is then unchanged.
  void open(const std::string& path);
  /// False when it was not saved: a notice says why, or a question is asked first.
  bool save(const std::string& path);

  // ---- what outlives the window (shell_keep.cpp) ----
  /// The remembered settings, read when the shell was made.
  const Settings& settings() const { return stored_; }
  /// From now on what changes is remembered. `wall_seconds` since 1970: for work that was not saved
  /// when a window ended, which is now on offer.
  void start_keeping(std::int64_t wall_seconds);
  /// Once in a while, with seconds of any steady clock: writes what has changed.
  void keep(double seconds);
  /// At a clean end: writes the rest, waits for it, removes the autosave.
  void finish_keeping();

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
  void on(const WalkBackward&);
  void on(const ChooseHead& a) { change_head(a.head); }
  void on(const CompareHead&);
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
  // shell_inspect.cpp: the inspector
  void on(const PickCell&);
  void on(const ChooseTab&);
  void on(const GoBackTo&);
  void on(const CopyText&);
  void on(const ShowAllTerms&);
  void on(const ChooseLibrary&);
  void on(const LightTensor&);
  void on(const TypeTarget& a) { state_.session.target_typed = a.text; }
  void on(const NudgeCell&);
  void take_nudge(const FinishedNudge&);
  // shell_compute.cpp: processor and graphics card
  void on(const ChooseCompute&);
  void on(const ComputeAutomatically&);
  void on(const ShowSizes&);
  void on(const MeasureSizes&);
  void on(const ShowKernel&);
  bool perform_compute(Command);
  bool start_gpu();
  bool give_trainer_gpu();
  std::unique_ptr<Gpu> new_gpu() const;
  void take_gpu(FinishedRun&);
  void take_gpu_test(const GpuState&);
  void tell_gpu(const GpuState&);
  void forget_sizes();
  KernelView kernel_of(const CellPick&) const;
  // shell_heads.cpp: the row of heads, the mask painter
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
  // shell_model.cpp: trained models
  void on(const ChooseModel&);
  void take_model(LoadedModel);
  std::optional<Edit> move_in_model(const Edit&) const;
  // shell_files.cpp: sessions, files, questions
  void on(const OpenFile&);
  void on(const SaveFile&);
  void on(const TypePath&);
  void on(const AnswerQuestion&);
  void on(const DropFiles&);
  void leave(Leaving, const std::string& path = {});
  void finish_leaving(Leaving, const std::string& path);
  void answer_leave(const Question&, Answer);
  void answer_overwrite(const Question&, Answer);
  void ask_path_to_save();
  bool write(const std::string& path);
  void remember_recent(const std::string& path);
  void replace_document(Document, const std::string& path);
  // shell_keep.cpp
  void answer_recovery(Answer);
  void offer_next_recovery();
  void read_stored_settings();
  Settings current_settings() const;
  void keep_settings();
  void keep_autosave(double seconds);
  // shell_train.cpp: training
  void on(const PlanRun&);
  void on(const StartRun&);
  void on(const PlayRun&);
  void on(const StepRun&);
  void on(const MarkStep&);
  void on(const PlayFilm&);
  void on(const PinStep&);
  void on(const ChooseCurve&);
  void on(const KeepRun&);
  void on(const ForgetRun&);
  void on(const SetSampling&);
  void on(const AskText&);
  void on(const CancelRun&);
  void on(const AskKeep&);
  void on(const UseText&);
  void on(const GenerateToken&);
  bool perform_train(Command);
  bool train_takes(Command);
  void show_training(bool open);
  bool put_aside();
  bool is_reading(const RunPlan&) const;
  void tell_save(const SaveReport&);
  void drop_text(const std::string& path);
  void update_sample();
  void tell_left_runs(std::vector<std::string> folders);
  void move_mark(int direction);
  void move_film(double seconds);
  bool poll_train();
  void use_run();
  void update_compared();
  void compare(TraceTask, const std::shared_ptr<const Model>&);
  void take_compared(TraceTask, FinishedRun);
  void keep_run();
  std::shared_ptr<const Model> point_model(const RunPoint&) const;
  std::shared_ptr<const Model> marked_model() const;
  // shell_palette.cpp: keys while a question or the palette is open
  bool question_key(const Shortcut&);
  bool palette_key(const Shortcut&);
  void on(const TypeQuery&);
  void on(const ChooseInPalette&);
  void on(const RunInPalette&);
  static bool is_large(const Document&, bool gradients);
  void recompute();
  void speak(Language);
  void take(FinishedRun);
  void go_to(const std::string& tensor);
  void go_to_awaited(const std::string& tensor);
  void step_by(int direction);
  bool wants_gradients() const;
  void change_layer(int layer);
  void change_head(int head);
  void settle();  // brings the session in line with the trace
  void pick_default();
  void update_difference();
  void finish_motion();      // the finished step is shown, nothing moves
  void start_step_motion();  // another step is shown: while playing its clock starts
  void update_inspected();
  void go_back_to(std::size_t crumb);

  // What the last frame drew lives until the next one, which draws something else.
  struct Drawn {
    std::shared_ptr<const Trace> trace, newest, pinned;
    std::shared_ptr<const PatternDifferences> differences;
  };

  AppState state_;
  Drawn drawn_;
  ShellOptions options_;
  TraceWorker worker_;
  std::vector<Action> queue_;
  std::optional<CellPick> trail_end_;  // the cell that session.trail leads to
  Document computed_;                  // the document that the trace was made of
  bool computed_backward_ = false;     // and whether with gradients
  ComputeMode computed_mode_{};        // and by whom
  GpuMaker make_gpu_;
  Config sizes_config_;  // of which derived.sizes are
  std::string sizes_model_;
  std::shared_ptr<const Model> run_model_, computed_model_;
  bool has_run_ = false;
  std::string awaited_step_;  // to be gone to once the run that brings it has ended
  MaskSpec mask_before_causal_;
  Message run_notice_;  // what was said about the last run

  // The departure that goes on once the path sheet has led to a saved file.
  Leaving leave_after_save_ = Leaving::kNone;
  std::string leave_after_save_path_;
  std::uint64_t file_mark_ = 0;  // the session file's contents as last read or written here
  Settings stored_, seen_;       // as remembered; as last compared with
  float screen_scale_ = 1;
  int window_width_ = 0, window_height_ = 0;
  bool window_maximized_ = false;
  bool keeping_ = false, said_settings_ = false, said_autosave_ = false;
  double next_check_ = 0, next_autosave_ = 0;
  std::int64_t wall_seconds_ = 0;
  std::vector<Recoverable> recoverables_;
  std::optional<Document> autosaved_;
  std::unique_ptr<AutosavePlace> place_;
  // Of state_.train.pinned: what it was made from.
  std::optional<RunPoint> pinned_point_;
  Document pinned_document_;
  // Of state_.train.newest, or of what is to become it.
  std::shared_ptr<const Model> newest_model_;
  Document newest_document_;
  std::vector<std::string> kept_runs_;  // to be told at the next start
  Message train_notice_;                // why the last start failed
  bool said_run_autosave_ = false;
  std::string run_sentence_;      // the sentence that a run brought, not the person
  SampleRequest sample_request_;  // the last one
  std::unique_ptr<SampleWorker> sampler_;
  std::unique_ptr<RunAutosave> run_autosave_;
  std::unique_ptr<TrainWorker> trainer_;  // made with the first run
  BackgroundWriter writer_;               // last: ends first
};

}  // namespace headlight
