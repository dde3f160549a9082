// Where everything stands: places by the window's size alone. Nothing floats; on small windows the
// heads fold away first, then the inspector; the stage never does.
#pragma once

#include <optional>

#include "app/ui/ui.h"

namespace headlight {

struct WindowLayout {
  Rect menu, sentence, model, switches, rail, stage, heads, heads_tab, inspector, inspector_tab,
      notices;
  bool heads_open = true, inspector_open = true;
};

/// `width` and `height` in screen pixels. The two wishes override what the size suggests.
/// `notices_height` in screen pixels, 0 when there are none.
WindowLayout window_layout(float width, float height, float scale, std::optional<bool> heads,
                           std::optional<bool> inspector, float notices_height);

}  // namespace headlight
