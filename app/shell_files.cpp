// The shell's part for files and sessions, leaving, and the command palette.
#include "app/shell.h"
#include "core/error.h"
#include "core/session_file.h"

namespace headlight {

bool Shell::perform_habits(Command command) {
  Session& s = state_.session;
  switch (command) {
    case Command::kOpen:
      s.path_typed = state_.session_path;
      s.ask_path_to_open = true;
      return true;
    case Command::kSave:
      if (!state_.session_path.empty()) {
        save(state_.session_path);
        return true;
      }
      [[fallthrough]];
    case Command::kSaveAs:
      s.path_typed = state_.session_path.empty() ? "untitled.headlight.json" : state_.session_path;
      s.ask_path_to_save = true;
      return true;
    case Command::kQuit:
      s.quit = true;
      return true;
    default:
      return false;
  }
}

void Shell::on(const OpenFile& a) { open(a.path); }
void Shell::on(const SaveFile& a) { save(a.path); }
void Shell::on(const TypePath& a) { state_.session.path_typed = a.text; }
void Shell::on(const AnswerLeaving&) {}
void Shell::on(const AnswerRecovery&) {}
void Shell::on(const DropFiles&) {}
void Shell::on(const TypeQuery& a) { state_.session.palette_typed = a.text; }
void Shell::on(const ChooseInPalette& a) { state_.session.palette_choice = a.line; }

void Shell::open(const std::string& path) {
  try {
    const SessionFile file = read_session(path);
    state_.history.reset(file.document);
    state_.session_path = path;
    ++state_.session.text_revision;
    for (const std::string& note : file.notes) notify(NoticeKind::kWarning, note);
  } catch (const Error& error) {
    notify(NoticeKind::kError, error.what());
  }
}

void Shell::save(const std::string& path) {
  try {
    write_session(path, state_.document());
    state_.session_path = path;
    state_.history.mark_saved();
    notify(NoticeKind::kInfo, "Saved in " + path);
  } catch (const Error& error) {
    std::string problem = error.what();
    if (problem.ends_with('.')) problem.pop_back();
    notify(NoticeKind::kError, problem + ". Your work is still here");
  }
}

}  // namespace headlight
