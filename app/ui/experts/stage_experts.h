// Experts on the stage: whose page it is, a row of buttons to choose one, and how the tokens of the
// sentence spread over them.
#pragma once

#include <cstdint>
#include <optional>

#include "app/ui/stage/stage_view.h"

namespace headlight {

/// Which part of the shown step's tensors its page is about: the expert of the picked cell, where
/// the step has one network for each expert, else the chosen head.
std::int64_t shown_part(const AppState&);

/// The room above the matrices that the experts' buttons need: none where a product leaves a
/// corner.
float expert_line(const AppState&, const Ui&, const Step&, const StepPage&);
/// The experts as buttons, above the left operand of a page that shows one of them.
void draw_expert_buttons(const AppState&, Ui&, const Rect& area, const Step&, const StepPage&,
                         const StagePlacement&);

/// Are the result's rows weights of experts? Then each expert's load stands beside them.
bool shows_load(const Program&, const StepPage&);
DetailNeed load_need(const Ui&, const Pane&);
std::optional<CellPick> draw_load(const AppState&, Ui&, const Rect&, const PagePane&, ChosenCell);

}  // namespace headlight
