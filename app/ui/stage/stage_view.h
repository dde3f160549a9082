// What the stage is put together from, one part a file. panel_stage chooses which are drawn.
#pragma once

#include "app/ui/kit/ui.h"
#include "app/ui/matrix/pane_view.h"
#include "app/ui/stage/stage_layout.h"
#include "app/ui/state/state.h"
#include "core/view/pane_layout.h"
#include "core/view/row_detail.h"

namespace headlight {

/// A stage so low that title and bar make room for the picture.
bool is_low_stage(const Ui&, const Rect& stage);

/// Title, formula, words and shapes. Returns the y under them.
float draw_stage_header(const AppState&, Ui&, const Rect&, const Step&, const StepPage&);

/// Tokens as chips, with their ids; a click marks padding while that mask is chosen.
void draw_tokens(const AppState&, Ui&, const Rect&);

/// On the page of the loss: what it takes for right where the sentence does not tell, to be chosen.
/// Returns the height; 0 on other pages.
float draw_target_tools(const AppState&, Ui&, const Rect&);

/// The matrices of a page, with their legend.
void draw_stage_page(const AppState&, Ui&, const Rect&, const Step&, const StepPage&);

/// What is out of the ordinary on this page, in words (NaN, infinite, all equal, no allowed key,
/// still computing), and how far processor and graphics card are apart; `brief`: in few words.
struct StageNote {
  std::string text;
  bool loud = false;
};
std::vector<StageNote> stage_notes(const AppState&, const Ui&, const Step&, const StepPage&,
                                   bool brief);
/// A line each. Returns the height, which is also to be had beforehand.
float draw_stage_notes(Ui&, ImVec2 at, float width, const std::vector<StageNote>&);
float stage_notes_height(const Ui&, float width, const std::vector<StageNote>&);

/// Where the page's picture stands under a header that ends at `top`, and the bar below it.
Rect stage_picture(const Ui&, const Rect& stage, float top);
float playback_height(const Ui&, const Rect& stage);

/// The whole stage while there is nothing to show: no sentence, a first run under way, a problem.
void draw_stage_without_trace(const AppState&, Ui&, const Rect&);

// ---- the detail of a page: each says what it needs, and draws into what it gets ----

/// The row and the cell of the page's result that is looked at: hovered, else picked, else the
/// default.
struct ChosenCell {
  std::int64_t row = 0, column = 0;
};
ChosenCell chosen_cell(const AppState&, const Step&, const StepPage&);

DetailNeed detail_need(const AppState&, const Ui&, const Step&, const StepPage&);
/// Returns the cell under the mouse.
std::optional<CellPick> draw_detail(const AppState&, Ui&, const Rect&, const Step&,
                                    const StepPage&);

DetailNeed row_table_need(const Ui&, const Trace&, const RowDetail&);
std::optional<CellPick> draw_row_table(const AppState&, Ui&, const Rect&, const RowDetail&);

/// Four digits in small figures where they find room: 8.758e−5 needs more than 0.0429.
std::string fitting_number(const Ui&, double value, float room);

DetailNeed ranking_need(const Ui&, const Pane&);
std::optional<CellPick> draw_ranking(const AppState&, Ui&, const Rect&, const PagePane&,
                                     ChosenCell);

DetailNeed curve_need(const Ui&);
/// The activation's curve, where this row's cells lie on it, and the chosen one.
void draw_activation_curve(const AppState&, Ui&, const Rect&, const Step&, const RowDetail&);
/// A few columns of the result against the position, the chosen one among them.
void draw_column_curves(const AppState&, Ui&, const Rect&, const Step&, const PagePane&,
                        ChosenCell);

DetailNeed pairs_need(const Ui&, const Pane&);
/// The pairs that turn, as arrows before and after.
std::optional<CellPick> draw_pairs(const AppState&, Ui&, const Rect&, const Step&, const StepPage&,
                                   ChosenCell);

/// Are the result's rows foci that weigh the tokens? Then the sentence stands once for each of
/// them, its words coloured by their weights.
bool shows_foci(const StepPage&);
DetailNeed foci_need(const Ui&, const Pane&);
std::optional<CellPick> draw_foci(const AppState&, Ui&, const Rect&, const PagePane&, ChosenCell);

/// Has the result two numbers for each token, along the directions that foci look along? Then the
/// tokens are points of a plane.
bool shows_plane(const StepPage&);
DetailNeed plane_need(const Ui&);
std::optional<CellPick> draw_plane(const AppState&, Ui&, const Rect&, const PagePane&, ChosenCell);

/// Which heads of queries share which head of keys and values, in the corner of a product between
/// its two operands; a click chooses the head. Draws nothing where none is shared.
void draw_shared_heads(const AppState&, Ui&, const Rect& area, const StepPage&,
                       const StagePlacement&);

/// Two heads side by side and their signed difference.
void draw_stage_comparison(const AppState&, Ui&, const Rect&, const Step&);

/// A frame around the matrix that the words name, while that name is under the mouse.
void light_named_pane(const AppState&, Ui&, const PlacedPane&);

/// Room for labels and captions of this page.
StageMeasures stage_measures(const Ui&, const Trace&, const StepPage&);

/// Rows and columns of the page's result that a hovered or picked cell leads to.
CellLink page_link(const Trace&, const StepPage&, const std::optional<CellPick>&);

}  // namespace headlight
