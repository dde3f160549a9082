// The file dialog of the desktop's portal (org.freedesktop.portal.FileChooser), which is asked over
// the session's bus: the dialog that belongs to the desktop, whatever programs are installed.
// https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.FileChooser.html
#pragma once

#include <memory>
#include <optional>

#include "app/shell/dialogs/dialog_wish.h"

namespace headlight {

class PortalDialog {
 public:
  PortalDialog();
  ~PortalDialog();

  /// Asks; false where there is no bus on which to ask. Whether there is a portal shows later.
  bool start(const DialogWish&);
  bool running() const { return request_ != nullptr; }
  /// What was answered, once.
  std::optional<DialogAnswer> poll();
  /// Closes it unanswered.
  void stop();

 private:
  struct Request;
  std::unique_ptr<Request> request_;
};

}  // namespace headlight
