#include "app/workers/run_autosave.h"

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "app/workers/stopwatch.h"
#include "core/base/error.h"
#include "core/io/file_steps.h"
#include "core/model/own_folder.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kLock = ".lock";

// "induction-2026-11-21-190507"
std::string name_of(const std::string& task) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "-%Y-%m-%d-%H%M%S", &local);
  return task + text;
}

}  // namespace

RunAutosave::RunAutosave(std::string folder, double every)
    : folder_(std::move(folder)),
      every_(every),
      mailbox_([this](const auto& job) { carry_out(job.key.first, job.request); },
               {.finishes = true}) {}

void RunAutosave::write(std::uint64_t run, std::shared_ptr<const RunCheckpoint> checkpoint) {
  if (mailbox_.post({run, false}, {std::move(checkpoint), 0}) == 0)
    note(run, nullptr, Message{"error.no_thread"});
}

void RunAutosave::discard(std::uint64_t run, std::int64_t step) {
  {
    const std::lock_guard lock(mutex_);
    known_[run].kept = step;
    known_[run].problem = {};
  }
  mailbox_.post({run, true}, {nullptr, step});
}

Message RunAutosave::take_problem() {
  Message problem;
  while (const auto reply = mailbox_.take_any()) problem = reply->problem;
  return problem;
}

void RunAutosave::carry_out(std::uint64_t run, const Job& job) {
  const auto place = places_.find(run);
  if (!job.write) {
    if (place != places_.end() && place->second.step <= job.step) remove(run);
    return;
  }
  try {
    Place& to = place_of(run, job.write->model.task);
    const double began = seconds_now();
    job.write->save(to.folder);
    took_ = seconds_now() - began;
    to.step = job.write->step;
    note(run, &to, {});
  } catch (...) {
    note(run, nullptr, caught_problem());
    throw;
  }
}

void RunAutosave::note(std::uint64_t run, const Place* place, const Message& problem) {
  const std::lock_guard lock(mutex_);
  Known& known = known_[run];
  known.problem = problem;
  if (!place) return;
  known.folder = place->folder;
  known.step = place->step;
}

std::string RunAutosave::folder_of(std::uint64_t run) const {
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(run);
  return known == known_.end() ? "" : known->second.folder;
}

bool RunAutosave::is_safe(std::uint64_t run, std::int64_t step) const {
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(run);
  return known != known_.end() && std::max(known->second.step, known->second.kept) >= step;
}

RunAutosave::Unsafe RunAutosave::unsafe() const {
  const std::lock_guard lock(mutex_);
  for (const auto& entry : known_) {
    if (!entry.second.problem.empty()) return {entry.first, entry.second.problem};
  }
  return {};
}

bool RunAutosave::failed(std::uint64_t run) const {
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(run);
  return known != known_.end() && !known->second.problem.empty();
}

// Where the run lies; another place where somebody has removed that one, or the folder of all of
// them.
RunAutosave::Place& RunAutosave::place_of(std::uint64_t run, const std::string& task) {
  const auto known = places_.find(run);
  std::error_code ignored;
  const bool there =
      known != places_.end() && fs::exists(known->second.folder + std::string(kLock), ignored);
  return there ? known->second : (places_[run] = make_place(task));
}

// A folder that nobody has, with its lock.
RunAutosave::Place RunAutosave::make_place(const std::string& task) const {
  constexpr int kMaxTries = 100;
  std::error_code error, ignored;
  fs::create_directories(folder_, error);
  if (error) fail_to_save(folder_, error.value());
  const std::string name = (fs::path(folder_) / name_of(task)).string();
  Place place;
  for (int n = 1; n <= kMaxTries; ++n) {
    place.folder = n == 1 ? name : name + "-" + std::to_string(n);
    if (fs::exists(place.folder, ignored)) continue;
    place.lock = std::make_unique<FileLock>(place.folder + std::string(kLock), true);
    if (place.lock->held()) return place;
  }
  place.folder = name;  // saving says what is wrong
  return place;
}

void RunAutosave::remove(std::uint64_t run) {
  const auto place = places_.find(run);
  std::error_code ignored;
  fs::remove_all(place->second.folder, ignored);
  fs::remove(place->second.folder + std::string(kLock), ignored);
  places_.erase(place);
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(run);
  if (known == known_.end()) return;
  known->second.folder.clear();
  known->second.step = -1;
}

std::vector<std::string> RunAutosave::leave() {
  wait();
  mailbox_.stop();
  std::vector<std::string> folders;
  std::error_code ignored;
  for (const auto& entry : places_) {
    if (entry.second.step > 0) {
      folders.push_back(entry.second.folder);
    } else {
      fs::remove_all(entry.second.folder, ignored);
    }
    fs::remove(entry.second.folder + std::string(kLock), ignored);
  }
  places_.clear();
  return folders;
}

namespace {

// As name_of() makes it, perhaps with a number behind: a folder of another name is somebody's own.
bool is_run_name(const std::string& name) {
  constexpr std::string_view kTime = "-dddd-dd-dd-dddddd";
  const auto fits = [&](std::size_t at) {
    for (std::size_t i = 0; i < kTime.size(); ++i) {
      const bool digit = name[at + i] >= '0' && name[at + i] <= '9';
      if (kTime[i] == 'd' ? !digit : name[at + i] != kTime[i]) return false;
    }
    const std::string_view rest = std::string_view(name).substr(at + kTime.size());
    return rest.empty() || (rest.size() > 1 && rest[0] == '-' &&
                            rest.find_first_not_of("0123456789", 1) == std::string_view::npos);
  };
  for (std::size_t at = 1; at + kTime.size() <= name.size(); ++at) {
    if (fits(at)) return true;
  }
  return false;
}

std::uintmax_t bytes_in(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored)) bytes += at->file_size(ignored);
  }
  return bytes;
}

struct LeftRun {
  fs::file_time_type written;
  std::string folder;
};

// The newest first.
std::vector<LeftRun> all_runs(const std::string& folder) {
  std::vector<LeftRun> runs;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code problem;
    const bool real = fs::is_directory(at->symlink_status(problem));
    if (!real || !is_run_name(at->path().filename().string())) continue;
    // What a person has put there, or a newer version has written, stays and does not count.
    if (!holds_own_alone(at->path())) continue;
    const auto written = fs::last_write_time(at->path() / "config.json", problem);
    if (!problem) runs.push_back({written, at->path().string()});
  }
  std::sort(runs.begin(), runs.end(), [](const LeftRun& a, const LeftRun& b) {
    return a.written != b.written ? a.written > b.written : a.folder > b.folder;
  });
  return runs;
}

}  // namespace

std::vector<std::string> remove_old_runs(const std::string& folder,
                                         const std::vector<std::string>& told,
                                         std::size_t most_runs, std::uintmax_t most_bytes) {
  std::vector<std::string> removed;
  std::uintmax_t bytes = 0;
  std::size_t kept = 0;
  for (const LeftRun& run : all_runs(folder)) {
    const std::uintmax_t size = bytes_in(run.folder);
    const bool new_to_person = std::find(told.begin(), told.end(), run.folder) != told.end();
    const std::string lock = run.folder + std::string(kLock);
    std::error_code error;
    // A lock that can be taken is nobody's.
    const bool in_use = fs::exists(lock, error) && !FileLock(lock, false).held();
    const bool fits = kept < most_runs && bytes + size <= most_bytes;
    if (kept == 0 || new_to_person || in_use || fits) {
      ++kept;
      bytes += size;
      continue;
    }
    fs::remove_all(run.folder, error);
    if (!error) removed.push_back(run.folder);
    fs::remove(lock, error);
  }
  return removed;
}

std::vector<std::string> find_left_runs(const std::string& folder) {
  std::vector<std::string> locks, left;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().string().ends_with(kLock)) locks.push_back(at->path().string());
  }
  for (const std::string& path : locks) {
    const FileLock lock(path, false);
    if (!lock.held()) continue;  // its window still runs
    const std::string run = path.substr(0, path.size() - kLock.size());
    if (fs::exists(fs::path(run) / "config.json", error)) left.push_back(run);
    fs::remove(path, error);
  }
  return left;
}

}  // namespace headlight
