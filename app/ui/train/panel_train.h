// The panels of training, in the places of those of the stage while it is open.
#pragma once

#include <string>

#include "app/ui/frame/layout.h"
#include "app/ui/kit/ui.h"
#include "app/ui/state/state.h"

namespace headlight {

/// A loss in nats per token as bits per byte of the text; 0 for a run whose tokens are not text.
double bits_per_byte(const RunView&, Split, double loss);

/// Are the tokens of this run pieces of a running text?
bool learns_text(const RunView&);

/// Task, model, learning: the settings of the next start.
void panel_train(const AppState&, Ui&, const Rect&);
/// The curves of the runs, the mark, and the buttons that play.
void panel_train_chart(const AppState&, Ui&, const Rect&);
/// Every head on the person's sentence as of the marked step, with its badge and how it came.
void panel_train_heads(const AppState&, Ui&, const Rect&);
/// The next token's probabilities, and what the model answers.
void panel_train_side(const AppState&, Ui&, const Rect&);

/// Parts of the chart: the buttons below it, and while a text is read what is done, how far it is,
/// and a way to stop it.
void train_transport(const AppState&, Ui&, const Rect&);
void train_reading(const AppState&, Ui&, const Rect& area);

/// A part of the last one: what the model writes by itself, of a text with loss and bits per byte.
/// Returns where it ends, the top of `r` where there is nothing.
float train_free_samples(const AppState&, Ui&, const Rect& r);

/// Under the curves, what the model of a text wrote at steps of the run, up to the shown one: a
/// line for each. How high they are in a panel so high; 0: there is no room, or nothing.
float train_growth_height(const AppState&, const Ui&, float panel);
void train_growth(const AppState&, Ui&, const Rect&);
/// A row that the run learns from, what is to be predicted at each of its tokens (the row shifted
/// by one), and what the model of the shown step predicts. Returns where it ends.
float train_shifted(const AppState&, Ui&, const Rect& r);
/// Another part of it: of a classifier, which classes the validation examples were taken for at the
/// shown step. Returns as above.
float train_confusion(const AppState&, Ui&, const Rect& r);

/// The runs and models on the disk.
void panel_runs(const AppState&, Ui&, float width, float height);
/// Of the sheet that asks where a text is, or where a model is to be kept: the question, and what
/// the file should look like.
std::string train_path_title(const AppState&, const Ui&);
std::string train_path_hint(const AppState&, const Ui&);

}  // namespace headlight
