// Steps: which step, layer, head and cell are looked at, the way that led to the cell, and the
// clock of a step in the making.
#pragma once

#include <functional>

#include "app/shell/controllers/controller.h"
#include "app/shell/settings.h"

namespace headlight {

class StepsController : public Controller {
 public:
  StepsController(const Shared&, StepsSession&);

  /// Asked with each step that is gone to: are its numbers still to be computed, in the background?
  /// go_to() comes again when they are there.
  using AwaitLayer = std::function<bool(TensorId)>;
  void await_layers(AwaitLayer await) { await_layer_ = std::move(await); }

  void restore(const Settings& stored) { session_.playback.speed = stored.speed; }
  /// A run has ended: stays as near as its trace allows to what was looked at.
  void take_trace();
  /// Brings what is looked at in line with the trace.
  void settle();
  void go_to(const std::string& tensor);
  /// Counted round; the picked cell moves to the same place of the other head.
  void go_to_head(int head);
  /// Once a frame: crumbs that lead nowhere any more are dropped.
  void update();

  void on(const GoToStep& a) { go_to(a.tensor); }
  void on(const ChooseLayer&);
  void on(const ShowBackward&);
  void on(Is<kNextStep>) { step_by(1); }
  void on(Is<kPreviousStep>) { step_by(-1); }
  void on(Is<kNextLayer>) { on(ChooseLayer{session_.layer + 1}); }
  void on(Is<kPreviousLayer>) { on(ChooseLayer{session_.layer - 1}); }
  void on(Is<kShowBackward>);

  // steps_cells.cpp
  void on(const HoverCell& a) { session_.hovered = a.cell; }
  void on(const PickCell&);
  void on(const MoveCell&);
  void on(const GoBackTo&);
  void on(const ShowAllTerms& a) { session_.all_terms = a.all; }
  void on(Is<kBack>);
  void on(Is<kCellLeft>) { on(MoveCell{0, -1}); }
  void on(Is<kCellRight>) { on(MoveCell{0, 1}); }
  void on(Is<kCellUp>) { on(MoveCell{-1, 0}); }
  void on(Is<kCellDown>) { on(MoveCell{1, 0}); }

  // steps_motion.cpp
  void on(const Tick&);
  void on(const ScrubTo&);
  void on(const SetSpeed&);
  void on(Is<kPlay>);
  void on(Is<kRestartStep>);
  void on(Is<kSkipStep>) { on(ScrubTo{1}); }
  void on(Is<kFaster>);
  void on(Is<kSlower>);

 private:
  AwaitLayer await_layer_;
  // What is looked at of the person's own document.
  struct Kept {
    std::string model, step;
    int layer = 0, head = 0;
    std::optional<CellPick> picked;
    bool picked_by_hand = false;
    std::vector<std::string> tokens, source;
  };

  void keep_place();
  void go_to_awaited(const std::string& tensor);
  void step_by(int direction);
  void pick_default();
  bool same_tokens(const Trace&, const CellPick&) const;
  void finish_motion();      // the finished step is shown, nothing moves
  void start_step_motion();  // another step is shown: while playing its clock starts

  StepsSession& session_;
  std::string awaited_step_;  // to be gone to once the run that brings it has ended
  // Of the run that the cell was chosen in, by the person or for them.
  std::vector<std::string> shown_tokens_, shown_source_;
  bool picked_by_hand_ = false;
  Kept kept_;
  bool away_ = false;  // another document is shown (AppState::preview), or was a moment ago
  std::optional<CellPick> trail_end_;  // the cell that session_.trail leads to
};

/// Does the trace have this cell?
bool has_cell(const Trace&, const CellPick&);

}  // namespace headlight
