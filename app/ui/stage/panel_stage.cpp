// The stage: one step at a time, its operands and its result.
#include <algorithm>

#include "app/ui/experts/stage_experts.h"
#include "app/ui/frame/panels.h"
#include "app/ui/heads/heads_lines.h"
#include "app/ui/stage/mask_painter.h"
#include "app/ui/stage/stage_view.h"
#include "core/view/pane_layout.h"

namespace headlight {

const Step* current_step(const AppState& state) {
  if (!state.derived.trace) return nullptr;
  const Program& program = state.derived.trace->program();
  const TensorId id = program.find(state.session.step);
  return &program.steps[static_cast<std::size_t>(id < 0 ? 0 : program.step_of(id))];
}

void panel_stage(const AppState& state, Ui& ui, const Rect& r) {
  ui.begin_panel("stage", r);
  const Step* step = current_step(state);
  const bool empty = !step || state.derived.empty;
  if (empty) {
    draw_stage_without_trace(state, ui, r);
    ui.end_panel();
    return;
  }
  const Trace& trace = *state.derived.trace;
  StepPage page = step_page(trace, *step, shown_part(state));
  free_faint_panes(trace, page);
  const float top = draw_stage_header(state, ui, r, *step, page);
  const bool low = is_low_stage(ui, r);
  const float bar = playback_height(ui, r);
  const Rect below{r.x0 + ui.px(24), top, r.x1 - ui.px(24), r.y1 - bar};
  const float tools = draw_mask_tools(state, ui, below) + draw_target_tools(state, ui, below);
  const Rect area = stage_picture(ui, r, top + tools);
  const bool has_head = trace.tensor(step->tensor).find_dim("head") >= 0;
  const bool compare = state.session.compare && has_head && state.session.other_head >= 0 &&
                       !state.session.playback.shown;
  if (area.height() < ui.px(40)) {
    // Under a notice in a very low window there is no room for a picture that could be read.
  } else if (page.lines.empty()) {
    draw_tokens(state, ui, {area.x0, area.y0 + ui.px(low ? 0 : 8), area.x1, area.y1});
  } else if (lines_are_shown(state)) {
    draw_lines(state, ui, area);
  } else if (compare) {
    draw_stage_comparison(state, ui, area, *step);
  } else {
    draw_stage_page(state, ui, area, *step, page);
  }
  panel_playback(state, ui, {r.x0, r.y1 - bar, r.x1, r.y1});
  ui.end_panel();
}

}  // namespace headlight
