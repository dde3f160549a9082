// Where everything stands: places by the window's size and by what the person dragged, folded or
// gave the whole window. Nothing floats; on small windows the heads fold first, then the inspector,
// then the list of steps; the stage never does.
#pragma once

#include <optional>

#include "app/ui/kit/ui.h"

namespace headlight {

/// What the person wants; unset and 0: as the window's size suggests.
struct LayoutPreferences {
  std::optional<bool> rail, heads, inspector;
  PanelSizes sizes;
  PanelId maximized = PanelId::kNone;
  PanelId last_opened = PanelId::kNone;  // has the room where there is room for one only
  bool next = false;                     // a line for the next token below the sentence
  bool has_heads = true;                 // is there a row of heads at all?
  float switches_height = 0;             // in screen pixels; 0: one line
  float notices_height = 0;              // in screen pixels, 0 when there are none
};

/// Rectangles without an area: not shown.
struct WindowLayout {
  Rect menu, notices, sentence, next, model, switches, rail, stage, heads, inspector;
  bool compact = false;  // the switches have no row of their own
  bool rail_open = true, heads_open = true, inspector_open = true;
  /// The gaps that can be dragged.
  Rect split_rail, split_inspector, split_heads;
};

/// How far a panel can be drawn out and in, in design pixels.
inline constexpr float kRailLeast = 150, kInspectorLeast = 240, kHeadsLeast = 104;

/// `width` and `height` in screen pixels.
WindowLayout window_layout(float width, float height, float scale, const LayoutPreferences&);

}  // namespace headlight
