// The shell's part for sessions and files: opening, saving, leaving, what is dropped on the window.
#include <filesystem>

#include "app/shell/dropped_file.h"
#include "app/shell/shell.h"
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

bool Shell::perform_habits(Command command) {
  Session& s = state_.session;
  switch (command) {
    case Command::kNew:
      leave(Leaving::kNew);
      return true;
    case Command::kOpen:
      s.path_typed = state_.session_path;
      s.ask_path_to_open = true;
      return true;
    case Command::kOpenModel:
      s.path_typed = state_.document().model.starts_with('/') ? state_.document().model : "";
      s.ask_path_to_model = true;
      return true;
    case Command::kSave:
      leave_after_save_ = Leaving::kNone;
      if (state_.session_path.empty()) {
        ask_path_to_save();
      } else {
        save(state_.session_path);
      }
      return true;
    case Command::kSaveAs:
      leave_after_save_ = Leaving::kNone;
      ask_path_to_save();
      return true;
    case Command::kQuit:
      leave(Leaving::kQuit);
      return true;
    case Command::kPalette:
      s.palette_open = true;
      s.palette_typed.clear();
      s.palette_choice = 0;
      return true;
    default:
      return false;
  }
}

void Shell::ask_path_to_save() {
  Session& s = state_.session;
  s.path_typed = state_.session_path.empty() ? "untitled.headlight.json" : state_.session_path;
  s.ask_path_to_save = true;
}

// ---- leaving the document: quit, new, open ----

void Shell::leave(Leaving what, const std::string& path) {
  if (state_.history.is_saved()) return finish_leaving(what, path);
  Question& q = state_.session.question;
  q = {};
  q.asking = Asking::kLeave;
  q.leaving = what;
  q.leaving_path = path;
}

void Shell::finish_leaving(Leaving what, const std::string& path) {
  leave_after_save_ = Leaving::kNone;
  switch (what) {
    case Leaving::kQuit:
      state_.session.quit = true;
      return;
    case Leaving::kNew:
      return replace_document(Document{}, "");
    case Leaving::kOpen:
      return open(path);
    case Leaving::kNone:
      return;
  }
}

void Shell::on(const AnswerQuestion& a) {
  const Question question = state_.session.question;
  state_.session.question = {};
  if (question.asking == Asking::kLeave) answer_leave(question, a.answer);
  if (question.asking == Asking::kOverwrite) answer_overwrite(question, a.answer);
  if (question.asking == Asking::kRecover) answer_recovery(a.answer);
}

// Save, don't save, cancel.
void Shell::answer_leave(const Question& q, Answer answer) {
  if (answer == Answer::kCancel) return;
  if (answer == Answer::kSecond) return finish_leaving(q.leaving, q.leaving_path);
  leave_after_save_ = q.leaving;
  leave_after_save_path_ = q.leaving_path;
  if (state_.session_path.empty()) return ask_path_to_save();
  // Whatever keeps it from being saved also keeps the document.
  if (save(state_.session_path)) finish_leaving(q.leaving, q.leaving_path);
}

// Save as, overwrite, cancel.
void Shell::answer_overwrite(const Question& q, Answer answer) {
  leave_after_save_ = q.leaving;
  leave_after_save_path_ = q.leaving_path;
  if (answer == Answer::kFirst) {
    ask_path_to_save();
    state_.session.path_typed = q.path;
  } else if (answer == Answer::kSecond) {
    if (write(q.path)) finish_leaving(q.leaving, q.leaving_path);
  } else {
    leave_after_save_ = Leaving::kNone;
  }
}

// ---- files ----

// Pasted paths often bring a line's end along.
void Shell::on(const TypePath& a) {
  state_.session.path_typed = a.text;
  std::erase_if(state_.session.path_typed, [](char c) { return c == '\n' || c == '\r'; });
}

void Shell::on(const OpenFile& a) {
  std::error_code ignored;
  if (std::filesystem::is_directory(a.path, ignored)) return on(ChooseModel{a.path});
  if (state_.history.is_saved()) return open(a.path);
  try {
    read_session(a.path);  // what cannot be opened needs no question
    leave(Leaving::kOpen, a.path);
  } catch (const Error& error) {
    notify(NoticeKind::kError, error.message());
  }
}

void Shell::on(const SaveFile& a) {
  const Leaving what = leave_after_save_;
  const std::string path = leave_after_save_path_;
  if (save(a.path)) finish_leaving(what, path);
}

void Shell::replace_document(Document document, const std::string& path) {
  state_.history.reset(std::move(document));
  state_.session_path = path;
  file_mark_ = path.empty() ? 0 : content_mark(path);
  ++state_.session.text_revision;
}

void Shell::set_session_path(const std::string& path) {
  state_.session_path = path;
  file_mark_ = content_mark(path);
  if (file_mark_ != 0) remember_recent(path);
}

void Shell::open(const std::string& path) {
  try {
    SessionFile file = read_session(path);
    replace_document(std::move(file.document), path);
    remember_recent(path);
    for (const Message& note : file.notes) notify(NoticeKind::kWarning, note);
  } catch (const Error& error) {
    notify(NoticeKind::kError, error.message());
    // A recent file that is gone is not offered again.
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) std::erase(state_.session.recent, absolute(path));
  }
}

bool Shell::save(const std::string& path) {
  // What someone else has put there since is not overwritten unasked.
  const bool known = path == state_.session_path && file_mark_ != 0;
  const std::uint64_t on_disk = content_mark(path);
  if (on_disk == 0 || (known && on_disk == file_mark_)) return write(path);
  Question& q = state_.session.question;
  q = {};
  q.asking = Asking::kOverwrite;
  q.path = path;
  q.known = known;
  q.leaving = leave_after_save_;
  q.leaving_path = leave_after_save_path_;
  return false;
}

bool Shell::write(const std::string& path) {
  try {
    const std::string text = session_text(state_.document());
    write_file_atomic(path, text);
    file_mark_ = content_mark_of(text);
    state_.session_path = path;
    state_.history.mark_saved();
    remember_recent(path);
    notify(NoticeKind::kInfo, Message{"files.saved", {{"path", path}}});
    return true;
  } catch (const Error& error) {
    leave_after_save_ = Leaving::kNone;
    notify(NoticeKind::kError, Message{"notice.not_saved"}.with(error.message()));
    return false;
  }
}

void Shell::remember_recent(const std::string& path) {
  Session& s = state_.session;
  // Another window may have added to the list.
  if (!options_.folders.settings.empty() && writer_.idle()) {
    const SettingsRead read = read_settings(options_.folders.settings);
    if (read.exists && read.problem.empty()) s.recent = read.settings.recent;
  }
  s.recent = with_recent(std::move(s.recent), absolute(path));
}

// ---- what is dropped on the window ----

void Shell::on(const DropFiles& a) {
  if (a.paths.empty()) return;
  Session& s = state_.session;
  const std::string& path = a.paths.front();
  const auto say = [&](NoticeKind kind, std::string_view id) {
    notify(kind, Message{std::string(id),
                         {{"file", file_name(path)}, {"n", std::to_string(a.paths.size())}}});
  };
  if (s.question.asking != Asking::kNothing) {
    return say(NoticeKind::kWarning, "drop.answer_first");
  }
  if (a.paths.size() > 1) say(NoticeKind::kWarning, "drop.only_first");
  std::error_code ignored;
  if (std::filesystem::exists(std::filesystem::path(path) / "config.json", ignored)) {
    return on(ChooseModel{path});
  }
  if (s.train.open) return drop_text(path);
  DroppedFile dropped = read_dropped(path);
  if (dropped.kind == DroppedFile::Kind::kSession) return on(OpenFile{path});
  if (dropped.kind == DroppedFile::Kind::kNothing) return say(NoticeKind::kError, dropped.problem);
  state_.history.end_group();
  state_.history.edit(SetSentence{std::move(dropped.text)});
  ++s.text_revision;
  say(NoticeKind::kInfo, "drop.is_sentence");
}

}  // namespace headlight
