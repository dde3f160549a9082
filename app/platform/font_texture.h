// The font atlas on the graphics card, in one byte a pixel. ImGui's own texture has four, and keeps
// them in the program's memory as well: for the interface in Chinese that is forty megabytes.
#pragma once

#include "app/platform/frontend.h"

namespace headlight {

class FontTexture {
 public:
  /// Before ImGui_ImplOpenGL3_NewFrame, with its context current: brings the fonts to what is shown
  /// now (Frontend::prepare_fonts), and what changed of the atlas to its texture. The texture goes
  /// with the context.
  void update(Frontend&);

 private:
  void begin();
  unsigned texture_ = 0;
};

}  // namespace headlight
