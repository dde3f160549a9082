#include "app/ui/layout.h"

#include <algorithm>
#include <cmath>

namespace headlight {

WindowLayout window_layout(float width, float height, float scale, std::optional<bool> heads,
                           std::optional<bool> inspector, float notices_height) {
  const auto px = [&](float design) { return std::round(design * scale); };
  const float w = width / scale, h = height / scale;  // the window in design pixels
  WindowLayout l;
  l.heads_open = heads.value_or(h >= 640);
  l.inspector_open = inspector.value_or(w >= 1100);
  const float margin = px(w >= 1600 ? 20 : 12), gap = px(w >= 1600 ? 16 : 10);
  const float rail_width = px(std::clamp(w * 0.14f, 196.0f, 268.0f));
  const float folded = px(30);
  const float inspector_width =
      l.inspector_open ? px(std::clamp(w * 0.2f, 292.0f, 384.0f)) : folded;
  const float right = width - margin;
  const float inspector_left = right - inspector_width;

  l.menu = {0, 0, width, px(40)};
  float y = l.menu.y1 + px(h >= 800 ? 14 : 8);
  const float field = px(h >= 800 ? 46 : 40);
  const float model_width = px(std::clamp(w * 0.2f, 292.0f, 384.0f));
  l.model = {right - model_width, y, right, y + field};
  l.sentence = {margin, y, l.model.x0 - gap, y + field};
  y = l.sentence.y1 + px(h >= 800 ? 14 : 8);
  l.switches = {margin, y, right, y + px(30)};
  y = l.switches.y1 + px(h >= 800 ? 14 : 8);
  if (notices_height > 0) {
    l.notices = {margin, y, right, y + notices_height};
    y = l.notices.y1 + px(8);
  }
  const float bottom = height - margin;
  l.rail = {margin, y, margin + rail_width, bottom};
  l.inspector = {inspector_left, y, right, bottom};
  l.inspector_tab = {right - folded, y, right, y + px(120)};
  const float stage_left = l.rail.x1 + gap, stage_right = inspector_left - gap;
  const float heads_height =
      l.heads_open ? std::min(px(std::clamp(h * (h < 800 ? 0.18f : 0.225f), 124.0f, 300.0f)),
                              (bottom - y) * 0.45f)
                   : folded;
  l.heads = {stage_left, bottom - heads_height, stage_right, bottom};
  l.heads_tab = l.heads;
  l.stage = {stage_left, y, std::max(stage_right, stage_left + 1),
             std::max(l.heads.y0 - gap, y + 1)};
  return l;
}

}  // namespace headlight
