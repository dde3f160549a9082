// Exports: a matrix of the shown page, as a picture or as numbers.
#pragma once

#include <future>

#include "app/shell/controllers/controller.h"

namespace headlight {

class ExportController : public Controller {
 public:
  /// `background`: files are made and written beside the window.
  ExportController(const Shared&, DialogSession&, bool background);

  bool poll();
  bool is_working() const { return writing_.valid(); }

  void on(const AskExport&);
  void on(const WriteExport&);
  void on(Is<kSavePicture>) { on(AskExport{true, ""}); }
  void on(Is<kSaveNumbers>) { on(AskExport{false, ""}); }

 private:
  void tell(const Message& problem);

  DialogSession& session_;
  const bool background_;
  std::string path_;
  std::future<Message> writing_;  // what was wrong; empty: it is there
};

}  // namespace headlight
