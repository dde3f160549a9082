#include "app/shell/controllers/files_controller.h"

#include <filesystem>

#include "app/shell/autosave.h"
#include "app/shell/dropped_file.h"
#include "core/base/error.h"
#include "core/document/session_file.h"
#include "core/io/atomic_file.h"

namespace headlight {
namespace {

std::string file_name(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return name.empty() ? path : name;
}

std::string absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  return error ? path : whole.lexically_normal().string();
}

}  // namespace

FilesController::FilesController(const Shared& shared, DocumentController& document,
                                 FilesSession& session, std::string& session_path,
                                 std::string settings, BackgroundWriter& writer)
    : Controller(shared),
      document_(document),
      session_(session),
      session_path_(session_path),
      settings_(std::move(settings)),
      writer_(writer) {}

void FilesController::on(Is<kOpenModel>) {
  const std::string& model = state_.document().model;
  perform(AskPath{Sheet::kOpenModel, model.starts_with('/') ? model : ""});
}

void FilesController::on(Is<kSave>) {
  leave_after_save_ = Leaving::kNone;
  if (session_path_.empty()) return ask_path_to_save();
  save(session_path_);
}

void FilesController::on(Is<kSaveAs>) {
  leave_after_save_ = Leaving::kNone;
  ask_path_to_save();
}

void FilesController::ask_path_to_save() {
  perform(AskPath{Sheet::kSave, session_path_.empty() ? "untitled.headlight.json" : session_path_});
}

// ---- leaving the document: quit, new, open ----

void FilesController::leave(Leaving what, const std::string& path) {
  if (state_.history.is_saved()) return finish_leaving(what, path);
  Question& q = session_.question;
  q = {};
  q.asking = Asking::kLeave;
  q.leaving = what;
  q.leaving_path = path;
}

void FilesController::finish_leaving(Leaving what, const std::string& path) {
  leave_after_save_ = Leaving::kNone;
  switch (what) {
    case Leaving::kQuit:
      session_.quit = true;
      return;
    case Leaving::kNew:
      return replace_document(Document{}, "");
    case Leaving::kOpen:
      return open(path);
    case Leaving::kNone:
      return;
  }
}

void FilesController::on(const AnswerQuestion& a) {
  const Question question = std::exchange(session_.question, {});
  if (question.asking == Asking::kLeave) answer_leave(question, a.answer);
  if (question.asking == Asking::kOverwrite) answer_overwrite(question, a.answer);
  if (question.asking == Asking::kRecover) perform(AnswerRecovery{a.answer});
}

// Save, don't save, cancel.
void FilesController::answer_leave(const Question& q, Answer answer) {
  if (answer == Answer::kCancel) return;
  if (answer == Answer::kSecond) return finish_leaving(q.leaving, q.leaving_path);
  leave_after_save_ = q.leaving;
  leave_after_save_path_ = q.leaving_path;
  if (session_path_.empty()) return ask_path_to_save();
  // Whatever keeps it from being saved also keeps the document.
  if (save(session_path_)) finish_leaving(q.leaving, q.leaving_path);
}

// Save as, overwrite, cancel.
void FilesController::answer_overwrite(const Question& q, Answer answer) {
  leave_after_save_ = q.leaving;
  leave_after_save_path_ = q.leaving_path;
  if (answer == Answer::kFirst) {
    perform(AskPath{Sheet::kSave, q.path});
  } else if (answer == Answer::kSecond) {
    if (write(q.path)) finish_leaving(q.leaving, q.leaving_path);
  } else {
    leave_after_save_ = Leaving::kNone;
  }
}

// ---- files ----

void FilesController::on(const OpenFile& a) {
  std::error_code ignored;
  if (std::filesystem::is_directory(a.path, ignored)) return perform(ChooseModel{a.path});
  if (state_.history.is_saved()) return open(a.path);
  try {
    read_session(a.path);  // what cannot be opened needs no question
    leave(Leaving::kOpen, a.path);
  } catch (const Error& error) {
    notify(NoticeKind::kError, error.message());
  }
}

void FilesController::on(const SaveFile& a) {
  const Leaving what = leave_after_save_;
  const std::string path = leave_after_save_path_;
  if (save(a.path)) finish_leaving(what, path);
}

void FilesController::replace_document(Document document, const std::string& path) {
  document_.replace(std::move(document));
  belong_to(path, path.empty() ? 0 : content_mark(path));
}

void FilesController::belong_to(const std::string& path, std::uint64_t mark) {
  session_path_ = path;
  file_mark_ = mark;
}

void FilesController::set_session_path(const std::string& path) {
  belong_to(path, content_mark(path));
  if (file_mark_ != 0) remember_recent(path);
}

void FilesController::open(const std::string& path) {
  try {
    SessionFile file = read_session(path);
    replace_document(std::move(file.document), path);
    remember_recent(path);
    for (const Message& note : file.notes) notify(NoticeKind::kWarning, note);
  } catch (const Error& error) {
    notify(NoticeKind::kError, error.message());
    // A recent file that is gone is not offered again.
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) std::erase(session_.recent, absolute(path));
  }
}

bool FilesController::save(const std::string& path) {
  // What someone else has put there since is not overwritten unasked.
  const bool known = path == session_path_ && file_mark_ != 0;
  const std::uint64_t on_disk = content_mark(path);
  if (on_disk == 0 || (known && on_disk == file_mark_)) return write(path);
  Question& q = session_.question;
  q = {};
  q.asking = Asking::kOverwrite;
  q.path = path;
  q.known = known;
  q.leaving = leave_after_save_;
  q.leaving_path = leave_after_save_path_;
  return false;
}

bool FilesController::write(const std::string& path) {
  try {
    const std::string text = session_text(state_.document());
    write_file_atomic(path, text);
    belong_to(path, content_mark_of(text));
    document_.mark_saved();
    remember_recent(path);
    notify(NoticeKind::kInfo, Message{"files.saved", {{"path", path}}});
    return true;
  } catch (const Error& error) {
    leave_after_save_ = Leaving::kNone;
    notify(NoticeKind::kError, Message{"notice.not_saved"}.with(error.message()));
    return false;
  }
}

void FilesController::remember_recent(const std::string& path) {
  // Another window may have added to the list.
  if (!settings_.empty() && writer_.idle()) {
    const SettingsRead read = read_settings(settings_);
    if (read.exists && read.problem.empty()) session_.recent = read.settings.recent;
  }
  session_.recent = with_recent(std::move(session_.recent), absolute(path));
}

// ---- what is dropped on the window ----

void FilesController::on(const DropFiles& a) {
  if (a.paths.empty()) return;
  const std::string& path = a.paths.front();
  const auto say = [&](NoticeKind kind, std::string_view id) {
    notify(kind, Message{std::string(id),
                         {{"file", file_name(path)}, {"n", std::to_string(a.paths.size())}}});
  };
  if (session_.question.asking != Asking::kNothing) {
    return say(NoticeKind::kWarning, "drop.answer_first");
  }
  if (a.paths.size() > 1) say(NoticeKind::kWarning, "drop.only_first");
  std::error_code ignored;
  if (std::filesystem::exists(std::filesystem::path(path) / "config.json", ignored)) {
    return perform(ChooseModel{path});
  }
  if (state_.session.train.open) return perform(DropText{path});
  DroppedFile dropped = read_dropped(path);
  if (dropped.kind == DroppedFile::Kind::kSession) return on(OpenFile{path});
  if (dropped.kind == DroppedFile::Kind::kNothing) return say(NoticeKind::kError, dropped.problem);
  document_.edit(SetSentence{std::move(dropped.text)});
  say(NoticeKind::kInfo, "drop.is_sentence");
}

}  // namespace headlight
