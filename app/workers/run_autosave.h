// RunAutosave: what is being trained, on disk while the window runs: one folder for each run,
// written again and again on a thread of its own. A lock beside it says that its window still runs;
// a folder whose lock nobody holds was left by a window that was killed.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "app/shell/autosave.h"
#include "core/base/mailbox.h"
#include "core/train/run_checkpoint.h"

namespace headlight {

class RunAutosave {
 public:
  /// Folders are made in `folder`; a run that is trained is to be written `every` so many seconds,
  /// less often where that takes long.
  explicit RunAutosave(std::string folder, double every = kSaveEvery);
  /// Writes what still waits. What is there stays, and so do its locks: leave() was not called.
  ~RunAutosave() { wait(); }
  RunAutosave(const RunAutosave&) = delete;
  RunAutosave& operator=(const RunAutosave&) = delete;

  double every() const { return every_ > 0 ? seconds_to_next_save(took_, every_) : 0; }
  /// In the place of what was written of this run before. Returns at once; of several that wait the
  /// last is written.
  void write(std::uint64_t run, std::shared_ptr<const RunCheckpoint>);
  /// It was kept elsewhere as of this step: removes what is there of it, unless it has made more.
  void discard(std::uint64_t run, std::int64_t step);
  /// Blocks until everything is done.
  void wait() { mailbox_.wait(); }
  bool busy() const { return mailbox_.busy(); }
  /// Why the last write failed, once; empty when it did not.
  Message take_problem();
  /// Where a run lies; "": nowhere.
  std::string folder_of(std::uint64_t run) const;
  /// Is it there as of this step, or was it kept elsewhere as of then?
  bool is_safe(std::uint64_t run, std::int64_t step) const;
  /// A run that could not be written when it last was to be, and why; empty when all could be.
  struct Unsafe {
    std::uint64_t run = 0;
    Message problem;
  };
  Unsafe unsafe() const;
  bool failed(std::uint64_t run) const;
  /// At a clean end: the folders that stay, those of runs that have learned something. Nothing is
  /// written any more.
  std::vector<std::string> leave();

 private:
  struct Place {
    std::string folder;
    std::unique_ptr<FileLock> lock;
    std::int64_t step = -1;  // of what is there; -1: nothing
  };
  struct Job {
    std::shared_ptr<const RunCheckpoint> write;  // null: discard
    std::int64_t step = 0;
  };
  void carry_out(std::uint64_t run, const Job&);
  Place make_place(const std::string& task) const;
  Place& place_of(std::uint64_t run, const std::string& task);
  void remove(std::uint64_t run);

  void note(std::uint64_t run, const Place*, const Message& problem);

  // What other threads ask for.
  struct Known {
    std::string folder;
    std::int64_t step = -1, kept = -1;  // of what is there; of what was kept elsewhere
    Message problem;
  };
  const std::string folder_;
  const double every_;
  std::atomic<double> took_{0};  // the last write, in seconds
  mutable std::mutex mutex_;
  std::map<std::uint64_t, Known> known_;   // guarded by it
  std::map<std::uint64_t, Place> places_;  // of the thread, but for leave()
  // By run; what is asked to be discarded comes after what is to be written of it.
  Mailbox<std::pair<std::uint64_t, bool>, Job, void> mailbox_;
};

/// The folders that windows have left which did not end by themselves; each is told once.
std::vector<std::string> find_left_runs(const std::string& folder);

/// What runs may stay that nobody has kept elsewhere.
inline constexpr std::size_t kMaxLeftRuns = 5;
inline constexpr std::uintmax_t kMaxLeftBytes = 200'000'000;

/// Removes the oldest of the runs that lie in `folder`, so that no more than these stay. Not
/// removed are the newest, those of windows that still run, the ones of `told` (of which the person
/// learns only now), and what no window has put there, such as a folder with other files, or a
/// newer version has. Returns what was removed.
std::vector<std::string> remove_old_runs(const std::string& folder,
                                         const std::vector<std::string>& told,
                                         std::size_t most_runs = kMaxLeftRuns,
                                         std::uintmax_t most_bytes = kMaxLeftBytes);

}  // namespace headlight
