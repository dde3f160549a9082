// Memory and time: what the shown model takes, what other sizes would, and models from papers.
#pragma once

#include <string>

#include "app/ui/kit/ui.h"
#include "app/ui/state/state.h"

namespace headlight {

/// The sheet, while it is open.
void panel_cost(const AppState&, Ui&, float width, float height);

/// Two buttons that lead there, in the settings of the model. Returns the height.
float cost_links(Ui&, ImVec2 at);

/// Its parts; each draws from the top of `r` on and returns where it ends.
/// Sizes to try out, and what they come to.
float cost_sizes(const AppState&, Ui&, const Rect& r);
float cost_facts(const AppState&, Ui&, const Rect& r);
/// Memory and multiply-adds against the number of tokens.
float cost_curves(const AppState&, Ui&, const Rect& r);
/// Parameters by part, numbers by step.
float cost_tables(const AppState&, Ui&, const Rect& r);
/// Models from papers.
float cost_presets(const AppState&, Ui&, const Rect& r);

/// Are what is counted the sizes that are shown, and not others that are tried out?
bool is_cost_of_shown(const AppState&);
/// Of a kind of model whose operations were measured; unset until then.
std::optional<double> predicted_ms(const AppState&, const ProgramCost&, bool backward = false);

/// A line of a table: the first text at the left, the others up to the ends of their columns
/// (shares of the width). Returns the height.
float cost_line(Ui&, const Rect& r, std::span<const std::string> texts, std::span<const float> ends,
                Color, bool strong = false);

/// What a run of the document keeps at least: the graphics card keeps all that it makes, and a run
/// that goes back a gradient of each.
RunKeeps kept_by_run(const AppState&);

/// "1,234", "12.3 million", "1.56 billion"
std::string amount_text(Language, double);
/// "12 ms", "1.4 s", "3 min"
std::string duration_text(Language, double milliseconds);

}  // namespace headlight
