// Pictures of characters above U+FFFF (emoji, rare Chinese) for ImGui's 16-bit fonts: drawn one by
// one into the atlas at their private places.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/ui/kit/imgui_compat.h"

namespace headlight {

class AstralGlyphs {
 public:
  AstralGlyphs();
  ~AstralGlyphs();
  /// Before the atlas is built: keeps room for `code_point` in `font` of this size, to be shown as
  /// `place`.
  void reserve(ImFontAtlas&, ImFont* font, float pixels, ImWchar place, unsigned code_point);
  /// After the atlas was built: draws them.
  void paint(ImFontAtlas&);

 private:
  struct Face;
  struct Glyph {
    int rect = 0;
    unsigned code_point = 0;
    float pixels = 0;
    const Face* face = nullptr;
  };
  const Face* face_for(unsigned code_point);
  std::vector<std::unique_ptr<Face>> faces_;
  std::vector<Glyph> glyphs_;
};

}  // namespace headlight
