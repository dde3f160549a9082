#include "app/ui/heads/unkept_pattern.h"

namespace headlight {

bool lacks_pattern(const AppState& state) {
  const Config& c = shown_config(state);
  return state.derived.trace && c.attends() && !c.keeps_pattern() && c.layers > 0;
}

void draw_unkept_pattern(const AppState& state, Ui& ui, const Rect& r) {
  const float x = r.x0 + ui.px(6);
  const float y = r.y0 + ui.px(4) +
                  ui.wrapped(ui.fonts.control, {x, r.y0 + ui.px(4)}, r.width() - ui.px(12),
                             ui.theme.muted, ui.tr("heads.unkept")) +
                  ui.px(6);
  const std::string_view label = ui.tr("heads.keep_pattern");
  const Rect button{x, y, x + ui.measure(ui.fonts.control, label).x + ui.px(22), y + ui.px(27)};
  if (!ui.button("heads/keep_pattern", label, button, false, true,
                 ui.tr("heads.keep_pattern_help")))
    return;
  Config config = state.document().config;
  config.fused_attention = false;
  ui.push(DoEdit{SetConfig{config}, ""});
}

}  // namespace headlight
