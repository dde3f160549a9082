// One function per panel: reads a const state, draws, pushes actions.
#pragma once

#include <optional>
#include <string>

#include "app/ui/frame/layout.h"
#include "app/ui/kit/ui.h"
#include "app/ui/state/state.h"

namespace headlight {

void panel_menu(const AppState&, Ui&, const Rect&);
/// How tall all notices are in a window of this width; 0 when there are none.
float notices_height(const AppState&, const Ui&, float width);
/// A card over everything where something is waited for longer than a moment.
void panel_waiting(const AppState&, Ui&, float width, float height);
void panel_notices(const AppState&, Ui&, const Rect&);
void panel_sentence(const AppState&, Ui&, const Rect&);
/// What comes next; the lower floor of the sentence's card.
void panel_next(const AppState&, Ui&, const Rect&);
/// Teacher forcing beside free running, while its sheet is open.
void panel_forced(const AppState&, Ui&, float width, float height);
void panel_model(const AppState&, Ui&, const Rect&);
void panel_switches(const AppState&, Ui&, const Rect&);
void panel_rail(const AppState&, Ui&, const Rect&);
void panel_stage(const AppState&, Ui&, const Rect&);
/// The bar under the stage; there must be a step to show.
void panel_playback(const AppState&, Ui&, const Rect&);
void panel_heads(const AppState&, Ui&, const Rect&, bool open);
void panel_inspector(const AppState&, Ui&, const Rect&, bool open);
void panel_help(const AppState&, Ui&, float width, float height);
/// Where to open and save.
void panel_paths(const AppState&, Ui&, float width, float height);
/// The questions that have to be answered before work is lost.
void panel_files(const AppState&, Ui&, float width, float height);
/// The recent sessions, as lines of the menu that is open.
void menu_recent(const AppState&, Ui&);
void panel_palette(const AppState&, Ui&, float width, float height);

/// A sheet in the middle of the window; `wanted` opens it once. False while it is not open.
bool begin_sheet(Ui&, const char* id, bool wanted, float width, float height, ImVec2 sheet);
/// The cross that closes a sheet, at the right end of its head `r`. Returns where it is.
Rect sheet_close(Ui&, std::string_view id, const Rect& r);
/// A sheet that is there for as long as `open` says and takes all input; false while it is not.
bool begin_modal(Ui&, const char* id, bool open, const Rect&);

/// A line over the menu while the colours are those of other eyes.
/// In the menus' line or at the top of the notices' place; vision_height() is what it takes there.
float vision_height(const AppState&, const Ui&, float width);
void panel_vision(const AppState&, Ui&, const Rect& menu, const Rect& notices);

/// The whole window, between ImGui::NewFrame and ImGui::Render.
void draw_window(const AppState&, Ui&, float width, float height);

/// Only the stage, for `headlight render`: one head's page, or the result of every head.
void draw_stage_only(const AppState&, Ui&, float width, float height, bool all_heads);
void panel_stage_heads(const AppState&, Ui&, const Rect&);

/// The step whose heads the row shows, null without a trace: the shown one where it has heads, the
/// layer's softmax otherwise.
const Step* heads_step(const AppState&);
/// The head that is looked at, as a head mask names it; nothing where there is none.
std::optional<MaskedHead> chosen_head(const AppState&);
/// The step that is shown, and the one that a session's step name leads to.
const Step* current_step(const AppState&);

}  // namespace headlight
