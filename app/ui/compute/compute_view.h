// Processor and graphics card: the switch in the menu's line, the sheet with both side by side, and
// what a step says of its own difference.
#pragma once

#include <string>

#include "app/ui/kit/ui.h"
#include "app/ui/state/state.h"

namespace headlight {

/// The switch, and before it in words who computes and how long it took, both as far as there is
/// room between `left` and `right`. Returns where they begin.
float compute_switch(const AppState&, Ui&, const Rect& menu, float left, float right);

/// The sheet, while it is open.
void panel_compute(const AppState&, Ui&, float width, float height);

/// Its parts: every operation's difference and times, time against size.
void compute_table(const AppState&, Ui&, const Rect&);
void compute_sizes(const AppState&, Ui&, const Rect&);

/// The result of this step that is furthest off relative to its limit; null where both have not
/// run the trace that is shown, or where nothing was compared.
const CallDifference* difference_of(const AppState&, const Step&);
/// Where it is: "A[head 3, the, street]".
std::string place_words(const Trace&, const CallDifference&);
/// "4.2 µs", "0.31 ms"; "–" where it was not measured.
std::string time_words(double milliseconds);
/// "largest difference 3.6e−7 at A[tired, street]; processor 0.012 ms, graphics card 0.31 ms".
/// `brief`: the difference alone, where there is little room.
std::string difference_words(const AppState&, const Ui&, const CallDifference&, bool brief = false);

}  // namespace headlight
