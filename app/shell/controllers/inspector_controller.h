// The inspector: what is said of the picked cell, and the check of a gradient.
#pragma once

#include "app/shell/controllers/controller.h"
#include "app/shell/shell_options.h"

namespace headlight {

class InspectorController : public Controller {
 public:
  InspectorController(const Shared&, const ShellOptions&, TraceWorker&, InspectorSession&,
                      InspectorDerived&);

  /// Explains the picked cell where it is another one than before, or the trace is.
  void update();
  /// Takes in what was finished in the background; true when something changed.
  bool poll();
  /// What is to go to the clipboard, once; empty: nothing.
  std::string take_copied() { return std::exchange(copied_, {}); }

  void on(const ChooseTab& a) { session_.inspector_tab = a.tab; }
  void on(const CopyText&);
  void on(const ChooseLibrary& a) { session_.library = a.library; }
  void on(const ShowKernel& a) { session_.kernel = a.kernel; }
  void on(const LightTensor& a) { session_.lit_tensor = a.tensor; }
  void on(const TypeTarget& a) { session_.target_typed = a.text; }
  void on(const NudgeCell&);
  void on(Is<kTabNumbers>) { open(InspectorTab::kNumbers); }
  void on(Is<kTabCode>) { open(InspectorTab::kCode); }
  void on(Is<kTabWords>) { open(InspectorTab::kWords); }
  void on(Is<kKernel>);
  void on(Is<kCopyText>);
  void on(Is<kCopyLatex>);
  void on(Is<kCopyTable>);

 private:
  void open(InspectorTab);
  template <class Make>
  void copy(Make make, std::string_view button);
  void take_nudge(const FinishedNudge&);
  KernelView kernel_of(const CellPick&) const;

  const ShellOptions& options_;
  TraceWorker& worker_;
  InspectorSession& session_;
  InspectorDerived& derived_;
  std::string copied_;
};

}  // namespace headlight
