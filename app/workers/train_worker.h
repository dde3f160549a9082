// Trains on a thread of its own, so that the window never waits: commands go in, what has happened
// is taken out once a frame.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "app/ui/state/train_state.h"
#include "app/workers/run_autosave.h"
#include "core/base/mailbox.h"
#include "core/train/training_run.h"

namespace headlight {

class Gpu;

class TrainWorker {
 public:
  /// `autosave`, if any, is given what is trained now and then, and outlives this.
  explicit TrainWorker(int threads, RunAutosave* autosave = nullptr);
  /// Stops after the update that is being made.
  ~TrainWorker();
  TrainWorker(const TrainWorker&) = delete;
  TrainWorker& operator=(const TrainWorker&) = delete;

  /// The graphics card for the runs that start() wants there. Before the first of them.
  void use_gpu(std::unique_ptr<Gpu>);
  bool has_gpu() const { return gpu_ != nullptr; }
  /// Before the window's context goes: its run, if it is there, goes on on the processor.
  void stop_gpu();
  /// Makes a run by this plan, at step 0. Reads the plan's text first. The one before stands still
  /// meanwhile; what has been trained of it can be saved until forget(). Where no run can be made
  /// it goes on as it was, and TrainStatus::start_problem says why.
  void start(const RunPlan&, bool on_gpu = false);
  /// Gives up the run that is being prepared: the one before goes on as it was.
  void cancel();
  /// Until the plan's end, pause(), or so many updates have been made (0: no matter how many).
  void play(std::int64_t until = 0);
  void pause();
  /// One update.
  void step();
  void set_rate(double);
  void set_clip(double);
  void set_patience(std::int64_t);
  /// Between two updates; an earlier run as it ended, `run` 0: the one that is there. What came of
  /// it stands in TrainStatus::save.
  void save(const std::string& folder, std::uint64_t run = 0);
  /// Gives the autosave the run as it is now, also at its first step.
  void keep_now();
  /// The same of all runs that it does not have as they are.
  void keep_all();
  /// An earlier run is not wanted in memory any more; what is on the disk stays.
  void forget(std::uint64_t run);
  /// How much memory the snapshots of the run may take.
  void set_history_limit(std::size_t bytes);

  /// Brings `view` up to date: costs what is new. True when something is.
  bool update(RunView& view);
  /// Blocks until every command is carried out and nothing runs.
  void wait() { mailbox_.wait(); }
  bool busy() const { return mailbox_.busy(); }

 private:
  using Command = std::function<void()>;
  // In the order of asking; the steps of a run that plays come after all that was asked for.
  using Box = Mailbox<std::uint64_t, Command, void>;
  void push(Command);
  void carry_out(Box::Job&);
  void prepare(const RunPlan&, std::uint64_t id, bool on_gpu);
  void make_run(const RunPlan&, std::uint64_t id, bool on_gpu);
  LearnerFactory learners(bool on_gpu);
  bool leave_gpu(const Message& why);
  void load_task(const RunPlan&, const ProgressFunction&);
  std::uint64_t awaited_run();
  void put_aside();
  std::uint64_t wanted_run();
  void keep_safe();
  void make_step();
  void stand_still();
  void publish(bool live);
  void publish_plan();
  void publish_locked(bool live);
  void end(TrainPhase, const Message& = {});
  void take_back(std::uint64_t id, const Message& problem);

  const int threads_;
  RunAutosave* const autosave_;
  // What was read last, so that the next start need not read it again.
  struct LoadedData {
    RunPlan plan;
    std::filesystem::file_time_type written;
    std::uintmax_t bytes = 0;
    std::shared_ptr<const Task> task;
    std::vector<Message> notes;
  };
  // Only the thread touches these.
  std::unique_ptr<Gpu> gpu_;  // outlives the run
  std::unique_ptr<TrainingRun> run_;
  std::uint64_t run_id_ = 0;  // counted from 1: starts that fail are none
  std::map<std::uint64_t, std::shared_ptr<const RunCheckpoint>> earlier_;
  LoadedData loaded_;
  double seconds_ = 0, window_seconds_ = 0, speed_ = 0;  // of training
  std::int64_t window_steps_ = 0, until_ = 0;
  double shown_at_ = -1;  // when the live model was last published
  double safe_at_ = 0;    // when the run was last kept safe, and as of which step
  std::int64_t safe_step_ = 0;
  bool running_ = false;  // step after step
  std::stop_token stop_;  // of what is being carried out

  std::uint64_t next_id_ = 1, next_command_ = 1;  // of the window's thread
  std::mutex mutex_;                              // guards the rest but the mailbox
  std::uint64_t wanted_ = 0;                      // 0: the run that is being prepared is not wanted
  RunView published_;
  RunView before_;  // what was published when a run began to be prepared
  std::uint64_t version_ = 0;
  Box mailbox_;  // last: its thread ends first
};

}  // namespace headlight
