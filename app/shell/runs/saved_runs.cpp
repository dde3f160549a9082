#include "app/shell/runs/saved_runs.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "app/shell/autosave.h"
#include "core/base/error.h"
#include "core/base/mailbox.h"
#include "core/base/utf8.h"
#include "core/io/file_steps.h"
#include "core/io/plain_file.h"
#include "core/model/checkpoint.h"
#include "core/model/folders/folder.h"
#include "core/train/run_settings.h"

namespace headlight {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRemovedFolder = "removed";
constexpr std::uint64_t kMaxRunText = 1u << 28;
constexpr double kReadWhole = 64e6;  // bytes: a larger model's weights are not read
constexpr std::size_t kLongestName = 255;
constexpr int kMaxNames = 1000;

double size_of_files(const fs::path& folder) {
  double bytes = 0;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code problem;
    const bool file = at->is_regular_file(problem);
    const std::uintmax_t size = file && !problem ? at->file_size(problem) : 0;
    if (!problem) bytes += static_cast<double>(size);
  }
  return bytes;
}

// Of another program, which keeps no run beside a model.
void read_foreign(SavedRun& run) {
  const ModelFolder folder(run.path);
  run.task = folder.file().task;
  run.model_kind = folder.file().kind;
  if (run.bytes <= kReadWhole) (void)folder.load();
}

void read_model(SavedRun& run) {
  const fs::path folder(run.path);
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) throw Error(Message{"runs.gone"});
  if (is_foreign_folder(folder)) return read_foreign(run);
  ModelFile model;
  if (run.bytes <= kReadWhole || !fs::exists(folder / "config.json", ignored)) {
    model = load_checkpoint(folder, true).model;
  } else {
    model = model_file_of(run.path);
  }
  run.task = model.task;
  run.model_kind = model.kind;
  if (!fs::exists(folder / kTrainFile, ignored)) return;
  RunSettings settings;
  TrainState state;
  parse_train(PlainFile(folder / kTrainFile, kMaxRunText).all(), settings, state);
  run.step = state.step;
  run.resumable = true;
  if (!state.score) return;
  run.loss = state.score->loss;
  run.accuracy = state.score->accuracy;
}

SavedRun saved_run(SavedKind kind, const fs::path& folder) {
  SavedRun run;
  run.kind = kind;
  run.path = folder.string();
  run.name = folder.filename().string();
  run.bytes = size_of_files(folder);
  run.written = written_at((folder / "model.safetensors").string());
  if (run.written == 0) run.written = written_at(run.path);
  const std::string lock = run.path + ".lock";
  std::error_code ignored;
  run.in_use = fs::exists(lock, ignored) && !FileLock(lock, false).held();
  try {
    read_model(run);
  } catch (...) {
    run.problem = caught_problem();
  }
  return run;
}

void add_runs(std::vector<SavedRun>& runs, SavedKind kind, const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code problem;
    const std::string name = at->path().filename().string();
    const bool real = fs::is_directory(at->symlink_status(problem));
    // Temporary folders of a save that is under way begin with a point.
    if (!real || name.starts_with('.') || name == kRemovedFolder) continue;
    runs.push_back(saved_run(kind, at->path()));
  }
}

void add_discarded(std::vector<SavedRun>& runs, const std::string& folder) {
  const auto add = [&](const std::string& path, const std::string& name) -> SavedRun& {
    SavedRun& run = runs.emplace_back();
    run.kind = SavedKind::kDiscarded;
    run.path = path;
    run.name = name;
    run.written = written_at(path);
    return run;
  };
  const FoundWork found = find_discarded(folder);
  for (const Recoverable& old : found.recoverable)
    add(old.path, shortened(old.document.sentence, 60));
  for (const UnreadWork& old : found.unread)
    add(old.path, fs::path(old.path).filename().string()).problem = old.problem;
}

[[noreturn]] void fail_at(const char* what, const std::string& name, const std::error_code& error) {
  throw Error(Message{what, {{"name", shown(name)}, {"reason", error.message()}}});
}

// A folder of this name in `parent` that nobody has.
fs::path free_place(const fs::path& parent, const std::string& name) {
  std::error_code ignored;
  for (int n = 1; n < kMaxNames; ++n) {
    const fs::path place = parent / (n == 1 ? name : name + "-" + std::to_string(n));
    if (!fs::exists(fs::symlink_status(place, ignored))) return place;
  }
  return parent / name;
}

std::string move_run(const std::string& folder, const fs::path& to, const char* what) {
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  if (!error) fs::rename(folder, to, error);
  if (error) fail_at(what, fs::path(folder).filename().string(), error);
  return to.string();
}

void expect_unused(const std::string& folder) {
  const std::string lock = folder + ".lock";
  std::error_code ignored;
  if (fs::exists(lock, ignored) && !FileLock(lock, false).held())
    throw Error(Message{"runs.in_use"});
}

}  // namespace

std::vector<SavedRun> find_saved_runs(const RunPlaces& places) {
  std::vector<SavedRun> runs;
  if (!places.runs.empty()) add_runs(runs, SavedKind::kRun, places.runs);
  for (const std::string& folder : places.kept)
    runs.push_back(saved_run(SavedKind::kModel, folder));
  if (!places.runs.empty())
    add_runs(runs, SavedKind::kRemoved, fs::path(places.runs) / kRemovedFolder);
  if (!places.autosave.empty()) add_discarded(runs, places.autosave);
  const auto now = static_cast<std::int64_t>(std::time(nullptr));
  for (SavedRun& run : runs) run.when = time_words(run.written, now);
  std::stable_sort(runs.begin(), runs.end(), [](const SavedRun& a, const SavedRun& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.written > b.written;
  });
  return runs;
}

ModelFile model_file_of(const std::string& folder) {
  if (is_foreign_folder(folder)) return ModelFolder(folder).file();
  return parse_model(PlainFile(fs::path(folder) / "config.json", kMaxRunText).all());
}

std::string rename_run(const std::string& folder, const std::string& name) {
  const fs::path old(folder);
  const bool usable = !name.empty() && !name.starts_with('.') && name.size() <= kLongestName &&
                      name.find('/') == std::string::npos && name.find('\0') == std::string::npos &&
                      name != kRemovedFolder;
  if (!usable) throw Error(Message{"runs.bad_name", {{"most", std::to_string(kLongestName)}}});
  if (old.filename() == name) return folder;
  expect_unused(folder);
  const fs::path to = old.parent_path() / name;
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(to, ignored)))
    throw Error(Message{"runs.name_taken", {{"name", shown(name)}}});
  return move_run(folder, to, "runs.not_renamed");
}

std::string remove_run(const std::string& folder) {
  expect_unused(folder);
  const fs::path old(folder);
  const fs::path to = free_place(old.parent_path() / kRemovedFolder, old.filename().string());
  const std::string moved = move_run(folder, to, "runs.not_removed");
  std::error_code ignored;
  fs::remove(folder + ".lock", ignored);
  fs::last_write_time(moved, fs::file_time_type::clock::now(), ignored);  // its days begin now
  return moved;
}

std::string restore_run(const std::string& folder) {
  const fs::path old(folder);
  return move_run(folder, free_place(old.parent_path().parent_path(), old.filename().string()),
                  "runs.not_restored");
}

void forget_removed(const std::string& runs) {
  if (!runs.empty()) remove_outdated((fs::path(runs) / kRemovedFolder).string());
}

}  // namespace headlight
