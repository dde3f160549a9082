#include "app/ui/frame/layout.h"

#include <algorithm>
#include <cmath>

namespace headlight {
namespace {

constexpr float kFolded = 30;      // the width of a folded panel's tab
constexpr float kStageWide = 300;  // the least that panels beside the stage leave to it
constexpr float kStageHigh = 150;

struct Measures {
  float scale, w, h;  // the window in design pixels
  bool compact;       // too small for a row of switches: they stand behind a button
  float px(float design) const { return std::round(design * scale); }
  float margin() const { return px(compact ? 6.0f : w >= 1600 ? 20.0f : 12.0f); }
  float gap() const { return px(compact ? 6.0f : w >= 1600 ? 16.0f : 10.0f); }
  float line_gap() const { return px(compact ? 4.0f : h >= 800 ? 14.0f : 6.0f); }
};

// The rows above the panels; returns where they end.
float place_rows(const Measures& m, float width, const LayoutPreferences& wanted, WindowLayout& l) {
  const float left = m.margin(), right = width - m.margin();
  l.menu = {0, 0, width, m.px(m.compact ? 34.0f : 40.0f)};
  float y = l.menu.y1 + m.line_gap();
  if (wanted.maximized == PanelId::kNone) {
    const float field = m.px(m.compact ? 34.0f : m.h >= 800 ? 46.0f : 38.0f);
    if (m.compact) {
      const float button = m.px(std::clamp(m.w * 0.2f, 64.0f, 104.0f));
      l.model = {right - button, y, right, y + field};
      l.switches = {l.model.x0 - m.gap() - button, y, l.model.x0 - m.gap(), y + field};
      l.sentence = {left, y, l.switches.x0 - m.gap(), y + field};
      y += field + m.line_gap();
    } else {
      const float model = m.px(std::clamp(m.w * 0.2f, std::min(292.0f, m.w * 0.35f), 384.0f));
      l.model = {right - model, y, right, y + field};
      l.sentence = {left, y, l.model.x0 - m.gap(), y + field};
      y += field;
      if (wanted.next) {
        l.next = {left, y, l.sentence.x1, y + m.px(m.h >= 800 ? 38.0f : 30.0f)};
        y = l.model.y1 = l.next.y1;
      }
      y += m.line_gap();
      l.switches = {left, y, right, y + std::max(m.px(30), wanted.switches_height)};
      y = l.switches.y1 + m.line_gap();
    }
  }
  if (wanted.notices_height > 0) {
    l.notices = {left, y, right, y + wanted.notices_height};
    y = l.notices.y1 + m.px(8);
  }
  return y;
}

// Widths of the rail and the inspector, in screen pixels, so that the stage keeps its least.
struct Sides {
  float rail = 0, inspector = 0;
};

Sides side_widths(const Measures& m, const PanelSizes& sizes, const WindowLayout& l, float room) {
  const auto own = [&](float size, float share, float low, float high, float least) {
    return size > 0 ? std::max(size, least) : std::clamp(m.w * share, low, high);
  };
  float rail = l.rail_open ? own(sizes.rail, 0.14f, 196, 268, kRailLeast) : kFolded;
  float inspector =
      l.inspector_open ? own(sizes.inspector, 0.2f, 292, 384, kInspectorLeast) : kFolded;
  float missing = kStageWide - (room / m.scale - rail - inspector - 2 * m.gap() / m.scale);
  const auto take = [&](float& side, bool open, float least) {
    if (!open || missing <= 0) return;
    const float given = std::min(missing, std::max(0.0f, side - least));
    side -= given;
    missing -= given;
  };
  take(inspector, l.inspector_open, kInspectorLeast);
  take(rail, l.rail_open, kRailLeast);
  return {m.px(rail), m.px(inspector)};
}

// Folds what leaves the stage too little, what the person opened last at last of all.
Sides fold_sides(const Measures& m, const LayoutPreferences& wanted, WindowLayout& l, float room) {
  const auto too_narrow = [&](const Sides& s) {
    return room - s.rail - s.inspector - 2 * m.gap() < m.px(kStageWide) - 2;
  };
  Sides sides = side_widths(m, wanted.sizes, l, room);
  const bool inspector_last = wanted.last_opened == PanelId::kInspector && wanted.inspector;
  for (int round = 0; round < 2 && too_narrow(sides); ++round) {
    bool& first = inspector_last ? l.rail_open : l.inspector_open;
    bool& second = inspector_last ? l.inspector_open : l.rail_open;
    const bool asked = (inspector_last ? wanted.inspector : wanted.rail).value_or(false);
    if (first) {
      first = false;
    } else if (second && !asked) {
      second = false;
    }
    sides = side_widths(m, wanted.sizes, l, room);
  }
  return sides;
}

Rect* rect_of(WindowLayout& l, PanelId id) {
  return id == PanelId::kRail        ? &l.rail
         : id == PanelId::kHeads     ? &l.heads
         : id == PanelId::kInspector ? &l.inspector
         : id == PanelId::kStage     ? &l.stage
                                     : nullptr;
}

// One panel alone.
void give_all(WindowLayout& l, PanelId id, const Rect& area) {
  l.rail = l.stage = l.heads = l.inspector = {};
  l.split_rail = l.split_heads = l.split_inspector = {};
  l.rail_open = id == PanelId::kRail;
  l.heads_open = id == PanelId::kHeads;
  l.inspector_open = id == PanelId::kInspector;
  *rect_of(l, id) = area;
}

}  // namespace

WindowLayout window_layout(float width, float height, float scale,
                           const LayoutPreferences& wanted) {
  const float w = width / scale, h = height / scale;
  const Measures m{scale, w, h, h < 420 || w < 640};
  WindowLayout l;
  l.compact = m.compact;
  const float top = place_rows(m, width, wanted, l);
  const Rect area{m.margin(), top, std::max(width - m.margin(), m.margin() + 1),
                  std::max(height - m.margin(), top + 1)};
  if (wanted.maximized != PanelId::kNone) {
    give_all(l, wanted.maximized, area);
    return l;
  }
  l.rail_open = wanted.rail.value_or(w >= 720);
  l.inspector_open = wanted.inspector.value_or(w >= 1100);
  l.heads_open = wanted.heads.value_or(h >= 640);
  const Sides sides = fold_sides(m, wanted, l, area.width());
  const bool crowded = area.width() - sides.rail - sides.inspector - 2 * m.gap() < m.px(200);
  if (crowded && l.inspector_open) return give_all(l, PanelId::kInspector, area), l;
  if (crowded && l.rail_open) return give_all(l, PanelId::kRail, area), l;

  const float gap = m.gap(), folded = m.px(kFolded);
  l.rail = {area.x0, area.y0, area.x0 + sides.rail, area.y1};
  l.inspector = {area.x1 - sides.inspector, area.y0, area.x1, area.y1};
  const float left = l.rail.x1 + gap, right = std::max(l.inspector.x0 - gap, left + 1);
  float heads = wanted.sizes.heads > 0 ? std::max(wanted.sizes.heads, kHeadsLeast)
                                       : std::clamp(h * (h < 800 ? 0.15f : 0.225f), 106.0f, 300.0f);
  heads = std::min(m.px(heads), area.height() - gap - m.px(kStageHigh));
  if (!wanted.has_heads) {
    l.heads_open = false;
    l.stage = {left, area.y0, right, area.y1};
    if (l.rail_open) l.split_rail = {l.rail.x1, area.y0, left, area.y1};
    if (l.inspector_open) l.split_inspector = {right, area.y0, l.inspector.x0, area.y1};
    return l;
  }
  if (l.heads_open && heads < m.px(kHeadsLeast)) {
    const bool asked = wanted.heads.value_or(false) && wanted.last_opened == PanelId::kHeads;
    if (asked) return give_all(l, PanelId::kHeads, area), l;
    l.heads_open = false;
  }
  // The tab of the heads stands below the stage, or where that is too low beside it.
  const bool beside = !l.heads_open && m.compact && !l.inspector_open;
  if (beside) {
    const float middle = std::round((area.y0 + area.y1) / 2);
    l.heads = {l.inspector.x0, middle + gap / 2, area.x1, area.y1};
    l.inspector.y1 = middle - gap / 2;
  } else {
    l.heads = {left, area.y1 - (l.heads_open ? heads : folded), right, area.y1};
  }
  l.stage = {left, area.y0, right, std::max(beside ? area.y1 : l.heads.y0 - gap, area.y0 + 1)};
  if (l.rail_open) l.split_rail = {l.rail.x1, area.y0, left, area.y1};
  if (l.inspector_open) l.split_inspector = {right, area.y0, l.inspector.x0, area.y1};
  if (l.heads_open) l.split_heads = {left, l.stage.y1, right, l.heads.y0};
  return l;
}

}  // namespace headlight
