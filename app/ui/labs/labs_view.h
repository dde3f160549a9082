// Labs: the list, the controls, the page, what is asked and what to notice.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/ui/kit/ui.h"
#include "app/ui/state/actions.h"
#include "app/ui/state/state.h"
#include "core/lab/lab.h"

namespace headlight {

/// All labs, by group; at the left.
void panel_lab_list(const AppState&, Ui&, const Rect&);
/// The question, its pictures and curves, or its calculation as code; in the middle.
void panel_lab_page(const AppState&, Ui&, const Rect&, bool with_controls);
/// Predict, then see; what to notice; ways on; at the right.
void panel_lab_side(const AppState&, Ui&, const Rect&);

/// The page with its settings and what to notice, to be printed; its end is the control "lab/end".
void draw_lab_only(const AppState&, Ui&, float width, float height);

/// What a person can do about a lab that shows nothing; never empty.
struct LabWay {
  std::string_view id;  // of its button
  std::string label;
  Action action;
};
std::vector<LabWay> lab_ways(const AppState&, const Lab&, Language);

/// The controls of the shown lab in as many lines as they need. Returns where they end.
float lab_controls(const AppState&, Ui&, const Rect&, bool draw = true);

/// Buttons that lead to labs, from `at` on to the right, as many as have room before `right`.
/// Returns where they end. `place`: what their ids begin with.
float lab_links(Ui&, ImVec2 at, float right, std::span<const Lab* const>, std::string_view place);
/// The labs that fit what a step makes.
std::vector<const Lab*> labs_of_step(const Trace&, const Step&);

// ---- parts of the page: each draws from the top of `r` on and returns where it ends ----
/// Why there is nothing to see, and lab_ways().
float lab_problem(const AppState&, Ui&, const Lab&, const Rect& r);
float lab_pictures(const AppState&, Ui&, const Lab&, const Rect& r);
float lab_charts(const AppState&, Ui&, const Lab&, const Rect& r);
float lab_tree(const AppState&, Ui&, const Rect& r);

/// A name of a row, a point or a line: a text of a lab, or as it is (a token, a number).
std::string lab_name(const Ui&, const std::string& name);
/// What a control says, in the person's words.
std::string lab_setting_text(const Ui&, const Lab&, std::string_view control,
                             const std::string& value);
/// A label that has no more room than this.
std::string shortened_label(const Ui&, ImFont*, std::string name, float room);
/// A text of the shown lab: "lab.<id>.<rest>".
std::string_view lab_words(const Ui&, const Lab&, std::string_view rest);
/// The colour of a line among others.
Color lab_color(const Theme&, std::size_t line);

}  // namespace headlight
