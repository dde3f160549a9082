// The stage while there is nothing to show, and what to do about it.
#include <algorithm>

#include "app/ui/stage/stage_view.h"

namespace headlight {

void draw_stage_without_trace(const AppState& state, Ui& ui, const Rect& r) {
  const Derived& d = state.derived;
  const bool waiting = !d.trace && d.computing;
  const bool failed = !d.empty && !waiting && !d.problem.empty();
  const std::string_view kind = waiting ? "computing" : failed ? "failed" : "empty";
  const std::string id = "stage." + std::string(kind);
  const float width = std::min(r.width() - ui.px(48), ui.px(520));
  const std::string title = ui.tr(id + ".title", {});
  const std::string words = ui.tr(id + ".words", {{"why", d.problem}});
  const float words_height = ui.wrapped_height(ui.fonts.body, width, words);
  const float height = ui.px(42) + words_height;
  // A little above the middle, as a page of its own.
  const float x = r.x0 + (r.width() - width) / 2;
  float y = r.y0 + std::max(ui.px(16), (r.height() - height) * 0.42f);
  ui.text(ui.fonts.title, {x, y}, ui.theme.text, title, width);
  y += ui.px(42);
  y += ui.wrapped(ui.fonts.body, {x, y}, width, ui.theme.text, words);
  if (!failed && !waiting && !d.problem.empty()) {
    ui.wrapped(ui.fonts.body, {x, y + ui.px(8)}, width, ui.theme.muted,
               ui.tr("stage.empty.now", {{"why", d.problem}}));
  }
}

}  // namespace headlight
