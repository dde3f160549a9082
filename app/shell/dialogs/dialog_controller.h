// Dialogs: where to open and save, in the desktop's own dialog where there is one, and in a sheet
// with a list of folders and files where not. What a path is for is done by the others.
#pragma once

#include <future>

#include "app/shell/controllers/controller.h"
#include "app/shell/dialogs/desktop_dialog.h"
#include "app/shell/shell_options.h"

namespace headlight {

/// The folders of a folder and its files with one of these endings (none: all), folders first, by
/// name, without hidden ones. Of a folder that cannot be read there are none.
std::vector<FileLine> lines_of_folder(const std::string& folder,
                                      const std::vector<std::string_view>& endings);

class DialogController : public Controller {
 public:
  DialogController(const Shared&, const ShellOptions&, DialogSession&);

  /// Takes in what was answered or listed in the background; true when something changed.
  bool poll();
  /// Is the desktop's dialog open, or a folder being read?
  bool is_working() const { return dialog_.running() || listing_.valid(); }

  void on(const AskPath&);
  void on(const TypePath&);
  void on(const TakePath&);
  void on(const ClosePath&);
  void on(const ListFolder&);
  void on(Is<kLeaveField>) { on(ClosePath{}); }

 private:
  void show_sheet(Sheet);
  void list(const std::string& folder);
  Message problem_with(const std::string& path) const;
  void use(const std::string& path);
  std::string whole(const std::string& typed) const;

  const ShellOptions& options_;
  DialogSession& session_;
  DesktopDialog dialog_;
  Sheet asked_ = Sheet::kNone;  // of the desktop
  std::future<std::vector<FileLine>> listing_;
  std::string replaces_;  // the file that was asked about: the same path once more replaces it
};

}  // namespace headlight
