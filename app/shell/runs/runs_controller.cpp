#include "app/shell/runs/runs_controller.h"

#include <algorithm>
#include <filesystem>

#include "app/shell/autosave.h"
#include "core/base/error.h"

namespace headlight {

RunsController::RunsController(const Shared& shared, const ShellOptions& options,
                               DocumentController& document, FilesController& files,
                               RunsSession& session, RunsData& data)
    : Controller(shared),
      options_(options),
      document_(document),
      files_(files),
      session_(session),
      data_(data),
      reader_([](auto& job) { return find_saved_runs(job.request); }) {}

RunPlaces RunsController::places() const {
  return {options_.folders.runs, options_.folders.autosave, session_.kept};
}

void RunsController::read() {
  data_.folder = options_.folders.runs;
  data_.reading = true;
  reader_.post({}, places());
}

bool RunsController::poll() {
  auto reply = reader_.take({});
  if (!reply) return false;
  data_.reading = false;
  if (reply->problem.empty()) {
    data_.runs = std::move(reply->answer);
  } else {
    notify(NoticeKind::kError, Message{"notice.problem"}.with(reply->problem));
  }
  return true;
}

void RunsController::wait() { reader_.wait(); }

const SavedRun* RunsController::find(const std::string& path) const {
  const auto& runs = data_.runs;
  const auto at =
      std::find_if(runs.begin(), runs.end(), [&](const SavedRun& run) { return run.path == path; });
  return at == runs.end() ? nullptr : &*at;
}

void RunsController::on(Is<kRuns>) {
  session_.renaming.clear();
  read();
  requests_.open = Sheet::kRuns;
}

// A folder of the person's own, kept or opened; what a window has put aside is listed anyway.
void RunsController::on(const RememberModel& a) {
  std::error_code error;
  const auto whole = std::filesystem::absolute(a.folder, error);
  if (error) return;
  const std::string folder = whole.lexically_normal().string();
  const std::string& runs = options_.folders.runs;
  if (!runs.empty() && folder.starts_with(runs + "/")) return;
  session_.kept = with_recent(std::move(session_.kept), folder);
}

void RunsController::on(const AskRename& a) {
  const SavedRun* run = find(a.folder);
  session_.renaming = run ? a.folder : "";
  session_.name_typed = run ? run->name : "";
}

void RunsController::on(const RenameRun& a) {
  session_.renaming.clear();
  try {
    const std::string folder = rename_run(a.folder, a.name);
    std::replace(session_.kept.begin(), session_.kept.end(), a.folder, folder);
    if (state_.history.now().model == a.folder) {
      Document document = state_.history.now();
      document.model = folder;
      document_.edit(SetDocument{document});
    }
  } catch (const Error& error) {
    notify(NoticeKind::kError, error.message());
  }
  read();
}

// A folder of the person's own only leaves the list.
void RunsController::on(const AskRemove& a) {
  const SavedRun* run = find(a.folder);
  if (!run) return;
  if (run->kind == SavedKind::kModel) {
    std::erase(session_.kept, a.folder);
    return read();
  }
  Question q;
  q.asking = Asking::kRemove;
  q.path = a.folder;
  files_.ask(std::move(q));
}

void RunsController::on(const RemoveRun& a) {
  try {
    remove_run(a.folder);
    notify(NoticeKind::kInfo,
           Message{"runs.removed",
                   {{"name", std::filesystem::path(a.folder).filename().string()},
                    {"days", std::to_string(kDiscardedDays)}}});
  } catch (const Error& error) {
    notify(NoticeKind::kError, error.message());
  }
  on(Is<kRuns>{});
}

void RunsController::on(const RestoreRun& a) {
  const SavedRun* run = find(a.path);
  if (!run) return;
  try {
    if (run->kind == SavedKind::kDiscarded) return restore_session(a.path);
    restore_run(a.path);
  } catch (const Error& error) {
    notify(NoticeKind::kError, error.message());
  }
  read();
}

// In the place of the document; undo goes back to that.
void RunsController::restore_session(const std::string& path) {
  for (const Recoverable& old : find_discarded(options_.folders.autosave).recoverable) {
    if (old.path != path) continue;
    document_.edit(SetDocument{old.document});
    files_.belong_to(old.origin.path, old.origin.mark);
    files_.find_missing();
  }
}

}  // namespace headlight
