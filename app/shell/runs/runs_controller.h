// File > Runs and models: the list of what is on the disk, and what is done with it.
#pragma once

#include "app/shell/controllers/files_controller.h"
#include "app/shell/runs/saved_runs.h"
#include "app/shell/shell_options.h"
#include "core/base/mailbox.h"

namespace headlight {

class RunsController : public Controller {
 public:
  RunsController(const Shared&, const ShellOptions&, DocumentController&, FilesController&,
                 RunsSession&, RunsData&);

  void restore(const Settings& stored) { session_.kept = stored.kept_models; }
  /// From now on what was removed too long ago is gone.
  void start() const { forget_removed(places().runs); }
  /// Takes in what was read; true when something changed.
  bool poll();
  bool is_reading() const { return data_.reading; }
  void wait();

  void on(Is<kRuns>);
  void on(const RememberModel&);
  void on(const AskRename&);
  void on(const TypeRunName& a) { session_.name_typed = a.text; }
  void on(const RenameRun&);
  void on(const AskRemove&);
  void on(const RemoveRun&);
  void on(const RestoreRun&);

 private:
  RunPlaces places() const;
  void read();
  const SavedRun* find(const std::string& path) const;
  void restore_session(const std::string& path);

  const ShellOptions& options_;
  DocumentController& document_;
  FilesController& files_;
  RunsSession& session_;
  RunsData& data_;
  Mailbox<OneKey, RunPlaces, std::vector<SavedRun>> reader_;
};

}  // namespace headlight
