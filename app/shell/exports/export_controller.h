// Exports: a matrix of the shown page, as a picture or as numbers.
#pragma once

#include <functional>
#include <future>

#include "app/shell/controllers/controller.h"
#include "app/shell/shell_options.h"

namespace headlight {

class ExportController : public Controller {
 public:
  /// In the background of the options files are made and written beside the window.
  ExportController(const Shared&, DialogSession&, const ShellOptions&);

  bool poll();
  bool is_working() const { return writing_.valid(); }

  void on(const AskExport&);
  void on(const WriteExport&);
  void on(Is<kSavePicture>) { on(AskExport{true, ""}); }
  void on(Is<kSaveNumbers>) { on(AskExport{false, ""}); }

 private:
  void ask_lab(bool picture);
  void write_lab(const std::string& path);
  void begin(const std::string& path, std::function<void()> write);
  void tell(const Message& problem);

  DialogSession& session_;
  const ShellOptions& options_;
  std::string path_;
  std::future<Message> writing_;  // what was wrong; empty: it is there
};

}  // namespace headlight
