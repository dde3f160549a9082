// The font atlas on the graphics card.
#pragma once

#include "app/platform/frontend.h"

namespace headlight {

class FontTexture {
 public:
  /// Before ImGui_ImplOpenGL3_NewFrame, with its context current: brings what changed of the atlas
  /// to its texture, which the first frame makes by itself.
  void update(FontsChange, const Fonts&);

 private:
  bool is_there_ = false;
};

}  // namespace headlight
