// The nudge: a gradient checked by a finite difference, before the person's eyes.
#include <cmath>

#include "app/ui/inspector/inspector.h"
#include "core/base/number_text.h"

namespace headlight {
namespace {

constexpr double kFewPercent = 0.03;

// What the two numbers say together. A slope that float32 cannot tell from the gradient agrees.
void draw_verdict(InspectorColumn& c, const Nudged& n) {
  Ui& ui = c.ui;
  const double apart = std::fabs(n.nudge.slope() - n.gradient);
  const double size = std::max(std::fabs(n.gradient), std::fabs(n.nudge.slope()));
  const std::string share = number_text(size > 0 ? 100 * apart / size : 0, 2);
  const bool agrees = apart <= kFewPercent * size;
  const bool tiny = !agrees && apart <= 4 * n.nudge.rounding_error();
  const std::string words =
      agrees ? ui.tr("nudge.agrees", {{"share", share}})
      : tiny ? ui.tr("nudge.tiny", {{"rounding", number_text(n.nudge.rounding_error(), 2)}})
             : ui.tr("nudge.differs", {{"share", share}});
  c.y += ui.px(4);
  c.y += ui.wrapped(ui.fonts.control, {c.x, c.y}, c.width(),
                    agrees || tiny ? ui.theme.text : ui.theme.error, words) +
         ui.px(8);
}

void draw_result(InspectorColumn& c, const Nudged& n) {
  Ui& ui = c.ui;
  const auto exact = [](double x) { return number_text(x, 7); };
  inspector_fact(c, ui.tr("nudge.value"), number_text(n.nudge.value));
  inspector_fact(c, "h", plain_number(n.nudge.step));
  inspector_fact(c, ui.tr("nudge.up"), exact(n.nudge.loss_up));
  inspector_fact(c, ui.tr("nudge.down"), exact(n.nudge.loss_down));
  ImGui::GetWindowDrawList()->AddLine({c.x, c.y}, {c.right, c.y}, to_u32(ui.theme.line));
  c.y += ui.px(6);
  inspector_fact(c, ui.tr("nudge.slope"), fine_number(n.nudge.slope(), 4));
  inspector_fact(c, ui.tr("nudge.gradient"), fine_number(n.gradient, 4));
  draw_verdict(c, n);
}

}  // namespace

void inspector_nudge(InspectorColumn& c, const Inspected& now) {
  Ui& ui = c.ui;
  const auto& nudged = c.state.derived.nudged;
  const bool current = nudged && nudged->serial == now.serial && nudged->cell == now.cell;
  const float height = ui.px(28);
  float right = c.right;
  // From the right, beside the title.
  const auto button = [&](std::string_view id, std::string_view label, double step) {
    const float width = ui.measure(ui.fonts.control, label).x + ui.px(20);
    const Rect r{right - width, c.y, right, c.y + height};
    right = r.x0 - ui.px(6);
    if (ui.button(id, label, r, false, !c.state.derived.nudging, ui.tr("nudge.about")))
      ui.push(NudgeCell{step});
  };
  c.y += ui.px(4);
  if (current) {
    button("nudge/larger", "h × 4", nudged->nudge.step * 4);
    button("nudge/smaller", "h ÷ 4", nudged->nudge.step / 4);
  } else {
    button("nudge/do", ui.tr("nudge.do"), 0);
  }
  ui.text(ui.fonts.strong, {c.x, c.y + ui.px(6)}, ui.theme.text, ui.tr("nudge.title"), right - c.x);
  c.y += height + ui.px(8);
  if (c.state.derived.nudging) {
    c.y += ui.wrapped(ui.fonts.control, {c.x, c.y}, c.width(), ui.theme.muted,
                      ui.tr("nudge.working")) +
           ui.px(8);
  } else if (current) {
    draw_result(c, *nudged);
  }
  c.y += ui.px(6);
}

}  // namespace headlight
