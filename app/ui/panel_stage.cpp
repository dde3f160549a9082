// The stage: one step at a time, its operands and its result.
#include <algorithm>

#include "app/ui/panels.h"
#include "app/ui/stage_view.h"
#include "core/page.h"

namespace headlight {

const Step* current_step(const AppState& state) {
  if (!state.derived.trace) return nullptr;
  const Program& program = state.derived.trace->program();
  const TensorId id = program.find(state.session.step);
  return &program.steps[static_cast<std::size_t>(id < 0 ? 0 : program.step_of(id))];
}

namespace {

// Nothing to show yet: say what to do.
void draw_empty(const AppState& state, Ui& ui, const Rect& r) {
  const float x = r.x0 + ui.px(24), width = r.width() - ui.px(48);
  float y = r.y0 + ui.px(20);
  ui.text(ui.fonts.title, {x, y}, ui.theme.text, "Type a sentence");
  y += ui.px(42);
  y += ui.wrapped(
      ui.fonts.body, {x, y}, std::min(width, ui.px(560)), ui.theme.text,
      "Every number of the model's attention appears here as you type. Press Ctrl+L to go to "
      "the sentence, then try: The animal didn't cross the street because it was too tired");
  if (!state.derived.problem.empty()) {
    ui.wrapped(ui.fonts.body, {x, y + ui.px(8)}, std::min(width, ui.px(560)), ui.theme.muted,
               "Right now " + state.derived.problem + ".");
  }
}

}  // namespace

void panel_stage(const AppState& state, Ui& ui, const Rect& r) {
  ui.begin_panel("stage", r);
  const Step* step = current_step(state);
  const bool empty = !step || state.derived.empty;
  if (empty) {
    draw_empty(state, ui, r);
    ui.end_panel();
    return;
  }
  const Trace& trace = *state.derived.trace;
  const StepPage page = step_page(trace, *step, state.session.head);
  const float top = draw_stage_header(state, ui, r, *step, page);
  const float bar = ui.px(40);
  const Rect area{r.x0 + ui.px(24), top, r.x1 - ui.px(12), r.y1 - bar - ui.px(6)};
  const bool has_head = trace.tensor(step->tensor).find_dim("head") >= 0;
  const bool compare = state.session.compare && has_head && state.session.other_head >= 0;
  if (page.lines.empty()) {
    draw_tokens(state, ui, {area.x0, area.y0 + ui.px(8), area.x1, area.y1});
  } else if (compare) {
    draw_stage_comparison(state, ui, area, *step);
  } else {
    draw_stage_page(state, ui, area, page);
  }
  panel_playback(state, ui, {r.x0, r.y1 - bar, r.x1, r.y1});
  ui.end_panel();
}

}  // namespace headlight
