// The stage's header: the step's title, formula, words and shapes.
#include <algorithm>

#include "app/ui/stage_view.h"
#include "core/page.h"
#include "core/steps.h"

namespace headlight {
namespace {

std::string where_text(const AppState& state, const Step& step, const StepPage& page) {
  std::string text;
  if (step.layer >= 0) text = "layer " + std::to_string(step.layer);
  bool per_head = false;
  for (const auto& line : page.lines) {
    for (const PagePane& p : line) {
      const TensorView t = state.derived.trace->tensor(p.tensor);
      per_head |= t.find_dim("head") >= 0 && p.pane.role != PaneRole::kRowVector;
    }
  }
  // Here the page is about all heads.
  if (step.kind == StepKind::kOutput || step.kind == StepKind::kConcat) per_head = false;
  if (per_head) text += " · head " + std::to_string(state.session.head);
  return text;
}

// "(12 × 16) · (16 × 12) → (12 × 12)"
std::string shapes_text(const StepPage& page) {
  if (page.lines.empty()) return "";
  std::string text;
  const auto& line = page.lines[0];
  for (std::size_t i = 0; i < line.size(); ++i) {
    const Pane& pane = line[i].pane;
    if (pane.role == PaneRole::kRowVector) continue;
    if (!text.empty()) {
      const bool last = i + 1 == line.size();
      text += last                              ? " → "
              : page.layout == Layout::kProduct ? " · "
                                                : " " + std::string(page.sign) + " ";
    }
    text += "(" + std::to_string(pane.rows) + " × " + std::to_string(pane.columns) + ")";
  }
  return text;
}

std::int64_t query_row(const AppState& state, const StepPage& page) {
  const Trace& trace = *state.derived.trace;
  const CellLink link = page_link(trace, page, state.session.picked);
  return std::min(link.row.value_or(trace.length() - 1), trace.length() - 1);
}

}  // namespace

float draw_stage_header(const AppState& state, Ui& ui, const Rect& r, const Step& step,
                        const StepPage& page) {
  const Trace& trace = *state.derived.trace;
  const StepText text = step_text(ui.language, trace.program(), step);
  const float x = r.x0 + ui.px(24);
  float y = r.y0 + ui.px(14);
  ui.text(ui.fonts.title, {x, y}, ui.theme.text, text.title);
  const float title_width = ui.measure(ui.fonts.title, text.title).x;
  ui.text(ui.fonts.control, {x + title_width + ui.px(12), y + ui.px(9)}, ui.theme.muted,
          where_text(state, step, page));
  const float formula_width = ui.formula({0, 0}, text.formula, false);
  const bool wide = r.width() > ui.px(760);
  const float shapes_width = ui.measure(ui.fonts.mono, shapes_text(page)).x;
  const float right_width = std::max(formula_width, shapes_width);
  const float fx = r.x1 - ui.px(28) - right_width;
  ui.formula({wide ? fx : r.x1 - ui.px(24) - formula_width, y + ui.px(2)}, text.formula);
  y += ui.px(34);
  const float words_width = (wide ? fx - x - ui.px(24) : r.width() - ui.px(48));
  const float words =
      ui.wrapped(ui.fonts.body, {x, y}, std::min(words_width, ui.px(640)), ui.theme.text,
                 to_field_text(step_words(ui.language, trace, step, state.session.head,
                                          query_row(state, page))));
  if (wide) ui.text(ui.fonts.mono, {fx, y + ui.px(2)}, ui.theme.muted, shapes_text(page));
  return y + words + ui.px(6);
}

}  // namespace headlight
