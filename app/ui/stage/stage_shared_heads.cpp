// Which heads of queries share which head of keys and values: two rows of heads joined by lines.
#include <algorithm>

#include "app/ui/stage/stage_motion.h"
#include "app/ui/stage/stage_view.h"

namespace headlight {
namespace {

const PlacedPane* pane_of(const StagePlacement& placement, PaneRole role) {
  const auto found = std::ranges::find_if(
      placement.panes, [&](const PlacedPane& p) { return p.pane->pane.role == role; });
  return found == placement.panes.end() ? nullptr : &*found;
}

// Above the left operand, left of the upper one.
Rect free_corner(const Ui& ui, const Rect& area, const StagePlacement& placement) {
  const PlacedPane *left = pane_of(placement, PaneRole::kLeft),
                   *top = pane_of(placement, PaneRole::kTop);
  if (!left || !top) return {};
  const float above = top->column_labels ? ui.px(40) : 0;
  return {area.x0, std::max(area.y0, top->rect.y0 - above), top->rect.x0 - ui.px(24), top->rect.y1};
}

struct Chips {
  float side, gap, names;
  ImVec2 at;                       // of the first head of queries
  float lower;                     // where the heads of keys begin
  std::int64_t first, end, group;  // the heads of queries that are shown
  float x(float head) const { return at.x + (head - static_cast<float>(first)) * (side + gap); }
  // Under the middle of those that share it and are shown.
  float shared_x(std::int64_t head) const {
    const std::int64_t from = std::max(first, head * group),
                       to = std::min(end, (head + 1) * group) - 1;
    return (x(static_cast<float>(from)) + x(static_cast<float>(to))) / 2;
  }
};

}  // namespace

void draw_shared_heads(const AppState& state, Ui& ui, const Rect& area, const StepPage& page,
                       const StagePlacement& placement) {
  if (page.kv_heads == 0 || page.layout != Layout::kProduct || shown_motion(state)) return;
  const std::int64_t heads = shown_config(state).head_count(), own = state.session.head;
  const Rect corner = free_corner(ui, area, placement);
  const std::string upper(ui.tr("stage.share.queries")), lower(ui.tr("stage.share.keys"));
  Chips c{ui.px(22), ui.px(4), 0, {}, 0, 0, heads, heads / page.kv_heads};
  c.names =
      std::max(ui.measure(ui.fonts.note, upper).x, ui.measure(ui.fonts.note, lower).x) + ui.px(10);
  const float between = ui.px(20), height = 2 * c.side + between;
  const auto room =
      static_cast<std::int64_t>((corner.width() - c.names + c.gap) / (c.side + c.gap));
  if (room < std::min<std::int64_t>(heads, 2) || corner.height() < height) return;
  if (heads > room) {  // the part that holds the chosen one, of whole groups where these fit
    const std::int64_t shown = room >= c.group ? room / c.group * c.group : room;
    c.first = own / shown * shown;
    c.end = std::min(heads, c.first + shown);
  }
  const float width = c.names + static_cast<float>(c.end - c.first) * (c.side + c.gap) - c.gap;
  const PlacedPane* left = pane_of(placement, PaneRole::kLeft);
  const float x0 = std::clamp(left->rect.x0, corner.x0, corner.x1 - width);
  c.at = {x0 + c.names, std::round((corner.y0 + corner.y1 - height) / 2)};
  c.lower = c.at.y + c.side + between;
  ui.probe.add("share", {x0, c.at.y}, {x0 + width, c.lower + c.side});

  const auto name = [&](float y, const std::string& words) {
    ui.text(ui.fonts.note, {x0, y + (c.side - ui.fonts.note->FontSize) / 2}, ui.theme.muted, words);
  };
  name(c.at.y, upper);
  name(c.lower, lower);
  if (c.end - c.first < heads) {
    name(c.at.y + (c.side + between) / 2,
         ui.tr("stage.share.part", {{"first", std::to_string(c.first)},
                                    {"last", std::to_string(c.end - 1)},
                                    {"n", std::to_string(heads)}}));
  }
  const auto line = [&](std::int64_t head) {
    const bool lit = head == own;
    ImGui::GetWindowDrawList()->AddLine(
        {c.x(static_cast<float>(head)) + c.side / 2, c.at.y + c.side},
        {c.shared_x(head / c.group) + c.side / 2, c.lower},
        to_u32(lit ? ui.theme.text : faded(ui.theme.muted, 0.6f)), ui.px(lit ? 2.0f : 1.0f));
  };
  const auto chip = [&](std::string_view kind, std::int64_t n, ImVec2 at, bool on) {
    const std::string number = std::to_string(n), id = "share/" + std::string(kind) + "/" + number;
    return ui.button(id, number, {at.x, at.y, at.x + c.side, at.y + c.side}, on);
  };
  for (std::int64_t head = c.first; head < c.end; ++head) {
    line(head);
    if (chip("query", head, {c.x(static_cast<float>(head)), c.at.y}, head == own))
      ui.push(ChooseHead{static_cast<int>(head)});
  }
  for (std::int64_t kv = c.first / c.group; kv * c.group < c.end; ++kv) {
    // Its own first one, unless one of them is looked at already.
    if (chip("key", kv, {c.shared_x(kv), c.lower}, kv == own / c.group) && kv != own / c.group)
      ui.push(ChooseHead{static_cast<int>(kv * c.group)});
  }
}

}  // namespace headlight
