// Trains on a thread of its own, so that the window never waits: commands go in, what has happened
// is taken out once a frame.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "app/ui/train_state.h"
#include "core/train/training_run.h"

namespace headlight {

class TrainWorker {
 public:
  explicit TrainWorker(int threads) : threads_(threads) {}
  /// Stops after the update that is being made.
  ~TrainWorker();
  TrainWorker(const TrainWorker&) = delete;
  TrainWorker& operator=(const TrainWorker&) = delete;

  /// Makes a run by this plan, at step 0; the one before is given up. Reads the plan's text first.
  void start(const RunPlan&);
  /// Until the plan's end, pause(), or so many updates have been made (0: no matter how many).
  void play(std::int64_t until = 0);
  void pause();
  /// One update.
  void step();
  void set_rate(double);
  void set_clip(double);
  /// Between two updates. What came of it stands in TrainStatus::saved or problem.
  void save(const std::string& folder);
  /// How much memory the snapshots of the run may take.
  void set_history_limit(std::size_t bytes);

  /// Brings `view` up to date: costs what is new. True when something is.
  bool update(RunView& view);
  /// Blocks until every command is carried out and nothing runs.
  void wait();

 private:
  using Command = std::function<void()>;
  void push(Command);
  void loop();
  void prepare(const RunPlan&);
  void make_step();
  void guard(const Command&);
  void publish(bool live);
  void publish_plan();
  void publish_locked(bool live);
  void end(TrainPhase, const Message& = {});

  const int threads_;
  // Only the thread touches these.
  std::unique_ptr<TrainingRun> run_;
  std::uint64_t next_id_ = 1;
  double seconds_ = 0, window_seconds_ = 0, speed_ = 0;  // of training
  std::int64_t window_steps_ = 0, until_ = 0;
  double shown_at_ = -1;  // when the live model was last published

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Command> commands_;
  bool running_ = false, busy_ = false, stop_ = false;
  RunView published_;
  std::uint64_t version_ = 0;
  std::thread thread_;
};

}  // namespace headlight
