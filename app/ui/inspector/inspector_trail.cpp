// The trail: the cells gone through on the way to the picked one, oldest first.
#include <algorithm>

#include "app/ui/inspector/inspector.h"
#include "core/base/number_text.h"
#include "core/explain/arithmetic.h"

namespace headlight {
namespace {

constexpr std::string_view kBetween = " \u203a ";

// Which of `widths` to show in `room`: the first, then as many of the last as fit; the others are
// one "…". Returns the first of the last ones; 1 when all fit.
std::size_t first_shown(const std::vector<float>& widths, float room, float dots) {
  float all = 0;
  for (const float w : widths) all += w;
  if (all <= room) return 1;
  float used = widths.front() + dots;
  std::size_t first = widths.size();
  while (first > 1 && used + widths[first - 1] <= room) used += widths[--first];
  return std::min(first, widths.size() - 1);
}

}  // namespace

void inspector_trail(InspectorColumn& c) {
  const std::vector<CellPick>& trail = c.state.session.trail;
  if (trail.empty() || !c.state.session.picked) return;
  Ui& ui = c.ui;
  ImFont* font = ui.fonts.control;
  const float between = ui.measure(font, kBetween).x;
  std::vector<std::string> names;
  std::vector<float> widths;
  const auto add = [&](const CellPick& cell) {
    const Program& program = c.trace.program();
    names.push_back(program.tensors[static_cast<std::size_t>(program.require(cell.tensor))].symbol);
    widths.push_back(ui.measure(font, names.back()).x + between);
  };
  for (const CellPick& cell : trail) add(cell);
  add(*c.state.session.picked);
  const float dots = ui.measure(font, "\u2026").x + between;
  const std::size_t first = first_shown(widths, c.width() + between, dots);
  float x = c.x;
  const float height = ui.px(22);
  const auto write = [&](const std::string& name, bool last, std::string_view id,
                         const std::string& help) {
    const float width = ui.measure(font, name).x;
    bool over = false;
    const bool pressed = !id.empty() && ui.hot(id, {x, c.y, x + width, c.y + height}, &over);
    ui.text(font, {x, c.y + ui.px(3)}, last || over ? ui.theme.text : ui.theme.muted, name);
    if (over) ui.tooltip(help);
    x += width;
    if (!last) ui.text(font, {x, c.y + ui.px(3)}, ui.theme.muted, kBetween);
    x += between;
    return pressed;
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool last = i + 1 == names.size();
    if (i > 0 && i < first) {
      // The ones between are one step back each; "…" goes to the nearest of them.
      if (i == 1 && write("\u2026", false, "inspector/crumb/more",
                          ui.tr("inspector.crumbs_hidden", {{"n", std::to_string(first - 1)}}))) {
        ui.push(GoBackTo{first - 1});
      }
      continue;
    }
    std::string help;
    if (!last) {
      const TensorId id = c.trace.program().find(trail[i].tensor);
      if (id >= 0) help = to_field_text(cell_title(c.trace, {id, trail[i].index}));
    }
    const std::string id = last ? "" : "inspector/crumb/" + std::to_string(i);
    if (write(names[i], last, id, help)) ui.push(GoBackTo{i});
  }
  c.y += ui.px(26);
}

}  // namespace headlight
