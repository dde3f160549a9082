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

// Heads of queries from `first` to `end`, `group` of them to each head of keys and values.
struct Heads {
  std::int64_t first = 0, end = 0, group = 1;
};

// As many as find room: whole groups where these fit, in parts of about equal length.
Heads shown_heads(std::int64_t all, std::int64_t group, std::int64_t own, std::int64_t room) {
  if (all <= room) return {0, all, group};
  const bool whole = room >= group;
  const std::int64_t unit = whole ? group : 1, base = whole ? 0 : own / group * group;
  const std::int64_t units = whole ? all / group : group, fit = room / unit;
  const std::int64_t parts = (units + fit - 1) / fit, shown = (units + parts - 1) / parts * unit;
  const std::int64_t first = base + (own - base) / shown * shown;
  return {first, std::min(base + units * unit, first + shown), group};
}

struct Chips {
  Heads heads;
  float side = 0, gap = 0;  // of a head
  ImVec2 at;                // of the first head of queries
  float lower = 0;          // where the heads of keys begin
  float x(std::int64_t head) const {
    return at.x + static_cast<float>(head - heads.first) * (side + gap);
  }
  // Under the middle of those that share it and are shown.
  float shared_x(std::int64_t kv) const {
    const std::int64_t from = std::max(heads.first, kv * heads.group),
                       last = std::min(heads.end, (kv + 1) * heads.group) - 1;
    return (x(from) + x(last)) / 2;
  }
};

void draw_chips(Ui& ui, const Chips& c, std::int64_t own) {
  const auto line = [&](std::int64_t head) {
    const bool lit = head == own;
    ImGui::GetWindowDrawList()->AddLine({c.x(head) + c.side / 2, c.at.y + c.side},
                                        {c.shared_x(head / c.heads.group) + c.side / 2, c.lower},
                                        to_u32(lit ? ui.theme.text : faded(ui.theme.muted, 0.6f)),
                                        ui.px(lit ? 2.0f : 1.0f));
  };
  const auto chip = [&](std::string_view kind, std::int64_t n, ImVec2 at, bool on) {
    const std::string number = std::to_string(n), id = "share/" + std::string(kind) + "/" + number;
    return ui.button(id, number, {at.x, at.y, at.x + c.side, at.y + c.side}, on);
  };
  for (std::int64_t head = c.heads.first; head < c.heads.end; ++head) {
    line(head);
    if (chip("query", head, {c.x(head), c.at.y}, head == own))
      ui.push(ChooseHead{static_cast<int>(head)});
  }
  const std::int64_t group = c.heads.group;
  for (std::int64_t kv = c.heads.first / group; kv * group < c.heads.end; ++kv) {
    // Its own first one, unless one of them is looked at already.
    const bool on = kv == own / group;
    if (chip("key", kv, {c.shared_x(kv), c.lower}, on) && !on)
      ui.push(ChooseHead{static_cast<int>(kv * group)});
  }
}

}  // namespace

void draw_shared_heads(const AppState& state, Ui& ui, const Rect& area, const StepPage& page,
                       const StagePlacement& placement) {
  const PlacedPane *left = pane_of(placement, PaneRole::kLeft),
                   *top = pane_of(placement, PaneRole::kTop);
  if (page.kv_heads == 0 || !left || !top || shown_motion(state)) return;
  const std::int64_t all = shown_config(state).head_count(), own = state.session.head;
  const auto part = [&](std::int64_t first, std::int64_t last) {
    return ui.tr("stage.share.part", {{"first", std::to_string(first)},
                                      {"last", std::to_string(last)},
                                      {"n", std::to_string(all)}});
  };
  const std::string upper(ui.tr("stage.share.queries")), lower(ui.tr("stage.share.keys"));
  float names = 0;
  for (const std::string& words : {upper, lower, part(all, all)})
    names = std::max(names, ui.measure(ui.fonts.note, words).x + ui.px(10));
  // Above the left operand, left of the upper one and its labels.
  const float above = top->column_labels ? ui.px(40) : 0;
  const Rect corner{area.x0, std::max(area.y0, top->rect.y0 - above), top->rect.x0 - ui.px(24),
                    top->rect.y1};
  Chips c{{}, ui.px(22), ui.px(4), {}, 0};
  const float between = ui.px(20), height = 2 * c.side + between;
  const auto room = static_cast<std::int64_t>((corner.width() - names) / (c.side + c.gap));
  if (room < std::min<std::int64_t>(all, 2) || corner.height() < height) return;
  c.heads = shown_heads(all, all / page.kv_heads, own, room);
  const float width = names + static_cast<float>(c.heads.end - c.heads.first) * (c.side + c.gap);
  const float x0 = std::clamp(left->rect.x0, corner.x0, corner.x1 - width);
  c.at = {x0 + names, std::round((corner.y0 + corner.y1 - height) / 2)};
  c.lower = c.at.y + c.side + between;
  ui.drawn.add("share", {x0, c.at.y}, {x0 + width, c.lower + c.side});
  const auto name = [&](float y, const std::string& words) {
    ui.text(ui.fonts.note, {x0, y + (c.side - font_size(ui.fonts.note)) / 2}, ui.theme.muted, words,
            names);
  };
  name(c.at.y, upper);
  name(c.lower, lower);
  if (c.heads.end - c.heads.first < all)
    name(c.at.y + (c.side + between) / 2, part(c.heads.first, c.heads.end - 1));
  draw_chips(ui, c, own);
}

}  // namespace headlight
