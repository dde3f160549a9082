// The panels of training, in the places of those of the stage while it is open.
#pragma once

#include "app/ui/layout.h"
#include "app/ui/state.h"
#include "app/ui/ui.h"

namespace headlight {

/// Task, model, learning: the settings of the next start.
void panel_train(const AppState&, Ui&, const Rect&);
/// The curves of the runs, the mark, and the buttons that play.
void panel_train_chart(const AppState&, Ui&, const Rect&);
/// Every head on the person's sentence as of the marked step, with its badge and how it came.
void panel_train_heads(const AppState&, Ui&, const Rect&);
/// The next token's probabilities, and what the model answers.
void panel_train_side(const AppState&, Ui&, const Rect&);

/// The sheets that ask where a text is, and where a model is to be kept.
void sheets_train(const AppState&, Ui&, float width, float height);

}  // namespace headlight
