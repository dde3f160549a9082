// Heads: which one is chosen, two of them compared, their lines, and the brush of the mask painter.
#pragma once

#include <future>

#include "app/shell/controllers/steps_controller.h"
#include "app/shell/shell_options.h"
#include "app/workers/heads_worker.h"

namespace headlight {

class HeadsController : public Controller {
 public:
  HeadsController(const Shared&, StepsController&, HeadsSession&, HeadsDerived&,
                  const ShellOptions&);

  /// The chosen heads are such as the trace has.
  void settle();
  /// The grid of all heads, where it is of another trace or step than before, and the difference
  /// of the two heads, where others are compared.
  void update();
  /// Takes in what was measured in the background; true when something changed.
  bool poll();
  bool is_working() const { return worker_.busy() || reaching_.valid(); }
  void wait() {
    worker_.wait();
    if (reaching_.valid()) reaching_.wait();
  }

  void on(const ChooseHead&);
  void on(const CompareHead&);
  void on(const ChooseHeadsView&);
  void on(const ChooseReachWord&);
  void on(const ToggleLineHead&);
  void on(const ChooseBrush& a) { session_.brush = a.brush; }
  void on(const BrushOneHead& a) { session_.brush_one_head = a.on; }
  void on(Is<kNextHead>) { on(ChooseHead{state_.session.head + 1}); }
  void on(Is<kPreviousHead>) { on(ChooseHead{state_.session.head - 1}); }
  void on(Is<kToggleCompare>);
  void on(Is<kToggleMeasured>) { session_.measured = !session_.measured; }
  void on(Is<kToggleLines>);
  void on(Is<kSwitchHead>);

 private:
  struct Compared {
    std::uint64_t serial = 0;  // of the trace
    TensorId tensor = -1;
    int head = -1, other = -1;
    bool operator==(const Compared&) const = default;
  };
  Compared compared() const;
  void lay_out_grid();
  void find_reach();
  bool take_reach();
  void measure();

  StepsController& steps_;
  HeadsSession& session_;
  HeadsDerived& derived_;
  Compared compared_;  // what derived_.difference is of
  Compared grid_of_;   // the trace and the tensor that derived_.grid is of
  HeadsWorker worker_;
  // What the reach is of, or is being computed of.
  std::uint64_t reach_serial_ = 0;
  CellRef reach_cell_;
  std::future<std::optional<Reach>> reaching_;
};

}  // namespace headlight
