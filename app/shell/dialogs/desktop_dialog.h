// The desktop's own file dialogs: its portal, or zenity (GNOME and others) or kdialog (KDE), each a
// program that prints the chosen path. They run beside the window, which goes on drawing.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "app/shell/dialogs/portal_dialog.h"

namespace headlight {

/// The command line for a dialog program by its name or path; empty for one that is not known.
std::vector<std::string> dialog_command(const std::string& program, const DialogWish&);

class DesktopDialog {
 public:
  DesktopDialog() = default;
  DesktopDialog(const DesktopDialog&) = delete;
  DesktopDialog& operator=(const DesktopDialog&) = delete;
  ~DesktopDialog() { stop(); }

  /// Asks by the first of these that can: "portal", or a program by its name or path. False where
  /// there is none.
  bool start(const std::vector<std::string>& programs, const DialogWish&);
  bool running() const { return portal_.running() || process_ > 0; }
  /// What was answered, once. Where one could not ask, the next of the list is tried first.
  std::optional<DialogAnswer> poll();
  /// Closes it unanswered.
  void stop();

 private:
  bool start_next();
  bool start_program(const std::string& program);
  std::optional<DialogAnswer> poll_program();
  void close_pipe();

  DialogWish wish_;
  std::vector<std::string> left_;  // to be tried, the next one last
  PortalDialog portal_;
  pid_t process_ = 0;
  int pipe_ = -1;
  std::string output_;
};

}  // namespace headlight
