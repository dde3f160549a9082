// The desktop's own file dialogs: zenity (GNOME and others) and kdialog (KDE), each a program that
// prints the chosen path. It runs beside the window, which goes on drawing.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace headlight {

struct DialogWish {
  enum class Kind { kOpenFile, kOpenFolder, kSave } kind = Kind::kOpenFile;
  std::string title;
  std::string path;    // that stands there already
  std::string filter;  // "*.headlight.json"; empty: any file
};

/// The command line for a dialog program by its name or path; empty for one that is not known.
std::vector<std::string> dialog_command(const std::string& program, const DialogWish&);

class DesktopDialog {
 public:
  DesktopDialog() = default;
  DesktopDialog(const DesktopDialog&) = delete;
  DesktopDialog& operator=(const DesktopDialog&) = delete;
  ~DesktopDialog() { stop(); }

  /// Starts the first of these programs that there is; false where there is none.
  bool start(const std::vector<std::string>& programs, const DialogWish&);
  bool running() const { return process_ > 0; }
  struct Answer {
    std::string path;     // empty: cancelled
    bool failed = false;  // the program could not ask
  };
  /// What was answered, once.
  std::optional<Answer> poll();
  /// Closes it unanswered.
  void stop();

 private:
  void close_pipe();

  pid_t process_ = 0;
  int pipe_ = -1;
  std::string output_;
};

}  // namespace headlight
