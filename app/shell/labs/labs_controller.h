// Labs: which one is shown, with what settings, what was answered; runs it when it is looked at.
#pragma once

#include <deque>

#include "app/shell/controllers/controller.h"
#include "app/shell/shell_options.h"
#include "app/workers/labs/lab_worker.h"

namespace headlight {

class LabsController : public Controller {
 public:
  LabsController(const Shared&, const ShellOptions&, LabsSession&, LabsData&);

  /// Asks for what is shown, where it is not there.
  void update();
  /// Takes in what came; true when something changed.
  bool poll();
  bool is_working() const { return worker_.busy(); }
  void wait() { worker_.wait(); }

  void on(const ShowLab&);
  void on(const SetLabControl&);
  void on(const ResetLab&);
  void on(const AnswerLab&);
  void on(const SeeLab&);
  void on(const ShowLabCode& a) { session_.code = a.on; }
  void on(const StopLab&);
  void on(const OpenLabInSteps&);

 private:
  // What a result is of.
  struct Asked {
    Document document;  // without what was set in other labs
    std::shared_ptr<const Model> run_model;
    bool operator==(const Asked& o) const {
      return same_run(document, o.document) && document.labs == o.document.labs &&
             run_model == o.run_model;
    }
  };
  struct Kept {
    Asked of;
    std::shared_ptr<const LabResult> result;
  };
  Asked asked() const;
  bool is_asked() const;
  void take(std::shared_ptr<const LabResult>, bool whole);

  LabsSession& session_;
  LabsData& data_;
  LabWorker worker_;
  std::optional<Asked> asked_;  // the latest
  std::deque<Kept> kept_;       // whole ones, the newest last
  std::string code_of_;         // the lab of data_.code
};

}  // namespace headlight
