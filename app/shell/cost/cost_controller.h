// Memory and time: counts what is asked for, measures how fast this machine is, gives the document
// the sizes that were tried out or those of a model from a paper.
#pragma once

#include "app/shell/controllers/controller.h"
#include "app/shell/shell_options.h"
#include "app/ui/state/state.h"

namespace headlight {

class TraceWorker;

class CostController : public Controller {
 public:
  CostController(const Shared&, const ShellOptions&, TraceWorker&, CostSession&, CostDerived&);

  /// Takes in rates that were measured in the background; true when there are any.
  bool poll();

  void on(const CountCost&);
  void on(const TryCostSizes& a) { session_.cost_sizes = a.sizes; }
  void on(const UseCostSizes&);
  void on(const ShowPresets& a) { session_.show_presets = a.presets; }
  void on(const ChoosePreset&);
  void on(Is<kCost>) { open(false); }
  void on(Is<kPresets>) { open(true); }

 private:
  void open(bool presets);
  void ask_rates();
  void count_presets();

  const ShellOptions& options_;
  TraceWorker& worker_;
  CostSession& session_;
  CostDerived& derived_;
  std::optional<Config> rates_of_;  // the model whose operations were measured last
};

}  // namespace headlight
