// Training: the run, the marked step, what the Train panel is asked for, what stays of a run.
#pragma once

#include <memory>

#include "app/shell/computing/computing_controller.h"
#include "app/shell/controllers/keeping_controller.h"
#include "app/workers/run_autosave.h"
#include "app/workers/sample_worker.h"
#include "app/workers/train_worker.h"

namespace headlight {

class TrainingController : public Controller {
 public:
  TrainingController(const Shared&, const ShellOptions&, TraceWorker&, DocumentController&,
                     ComputingController&, TrainSession&, TrainData&);

  /// Is a model being trained, so that there is something new many times a second?
  bool is_working() const;
  /// Takes in what has happened in the background; true when something changed.
  bool poll();
  void wait();       // for the run
  void wait_rest();  // for samples, and what is written
  /// Once in a while, with seconds of any steady clock: tries to write again what could not be.
  void keep_safe(double seconds);
  void stop_gpu();

  /// Where the run that is trained lies on the disk; asks for it to be written where it does not.
  RunFolder safe_folder();
  /// Is what is trained being saved, so that the window can end?
  bool is_leaving() const { return leaving_; }

  // training_models.cpp
  /// The weights of the marked step are those that the document is run with.
  void show_marked();
  /// After the sentence or the weights have changed: what else is shown of the sentence.
  void update_compared();
  /// Once a frame: a text of the shown weights, where they learn one.
  void update_sample();
  void update_growth();

  // training_files.cpp
  /// What the last windows have left, and `told` of: one notice for all of it. The runs of `needed`
  /// stay, whatever their age.
  void tell_left_runs(std::vector<std::string> told, std::vector<std::string> needed);
  /// Stops, and blocks until what has been learned is on the disk.
  void keep_now();
  /// At the end of the window: keeps what has been learned and was not kept by hand; the folders.
  std::vector<std::string> keep_at_end();

  void on(const PlanRun&);
  void on(const StartRun&);
  void on(const CancelRun&);
  void on(const ResumeRun&);
  void on(const PlayRun&);
  void on(const StepRun&);
  void on(const MarkStep&);
  void on(const MoveMark&);
  void on(const PlayFilm&);
  void on(const Tick&);
  void on(const PinStep&);
  void on(const ChooseCurve&);
  void on(const ForgetRun&);
  void on(const SetSampling&);
  void on(const ShowMode&);
  void on(Is<kTrainPlay>);
  void on(Is<kTrainStep>);
  void on(Is<kTrainSame>);
  void on(Is<kTrainNew>);
  void on(Is<kTrainFilm>) { on(PlayFilm{!session_.film}); }
  // training_files.cpp
  void on(const AskKeep&);
  void on(const KeepRun&);
  void on(const AskText&);
  void on(const UseText&);
  void on(const StartFrom&);
  void on(const DropText&);
  void on(Is<kTrainKeep>) { on(AskKeep{}); }
  void on(const LeaveWindow&);
  void on(const AnswerNotKept&);

 private:
  void make_trainer();
  bool is_open() const { return state_.session.mode == Mode::kTrain; }
  void start(const StartRun&, bool by_hand);
  void begin_learning();
  void settle_start();
  bool put_aside(RunView run);
  void finish_leaving();
  bool is_reading(const RunPlan&) const;
  bool give_gpu();
  void tell_save(const SaveReport&);
  void tell_unsafe();
  bool update_run();
  void tell_left_gpu(const TrainStatus&);
  void compare(TraceTask, const std::shared_ptr<const Model>&);
  void take_compared(TraceTask, FinishedRun);
  bool take_growth();
  bool continues_text() const;
  std::string text_start() const;
  void take_run();
  SetModel run_edit(const Document& before);
  void adopt();
  void update_preview();
  std::shared_ptr<const Model> point_model(const RunPoint&) const;
  void forget_start_notice();

  const ShellOptions& options_;
  TraceWorker& runs_;  // of the sentence
  DocumentController& document_;
  ComputingController& computing_;
  TrainSession& session_;
  TrainData& data_;
  // Of data_.pinned: what it was made from.
  std::optional<RunPoint> pinned_point_;
  Document pinned_document_;
  // Of data_.newest, or of what is to become it.
  std::shared_ptr<const Model> newest_model_;
  Document newest_document_;
  Message start_notice_;  // why the last start failed
  // A run is being prepared in the place of this one, which comes back where that fails.
  std::optional<RunView> replaced_;
  bool by_hand_ = false;       // it is to be shown in the place of the document
  std::uint64_t adopted_ = 0;  // the run that was
  struct PreviewOf {
    std::uint64_t run = 0;
    Document document;
    bool operator==(const PreviewOf&) const = default;
  };
  std::optional<PreviewOf> preview_of_;  // of what AppState::preview was made
  std::uint64_t asked_safe_ = 0;         // the run that safe_folder() has asked for
  bool leaving_ = false, leave_after_keep_ = false;
  std::string run_sentence_;       // the sentence that a run brought, not the person
  std::string run_task_;           // of the run that brought it
  SampleRequest sample_request_;   // the last one
  std::uint64_t growing_run_ = 0;  // whose text grower_ writes
  double next_safe_ = 0;
  std::unique_ptr<SampleWorker> sampler_, grower_;
  std::unique_ptr<RunAutosave> autosave_;
  std::unique_ptr<TrainWorker> trainer_;  // made with the first run; ends before the autosave
};

}  // namespace headlight
