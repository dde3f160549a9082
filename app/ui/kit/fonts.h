// Fonts: Inter for words, JetBrains Mono for numbers, Noto Sans CJK and DejaVu for the rest, each
// with fallbacks. The atlas holds only the characters that are on the screen, so that Chinese costs
// nothing until it is typed.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/ui/kit/imgui_compat.h"
#include "core/base/texts.h"

namespace headlight {

/// One entry per role in the design's type scale.
struct FontSet {
  ImFont* title = nullptr;       // 24 bold
  ImFont* formula = nullptr;     // 21 semi-bold italic
  ImFont* sentence = nullptr;    // 18 medium
  ImFont* body = nullptr;        // 14.5
  ImFont* control = nullptr;     // 13.5 medium
  ImFont* strong = nullptr;      // 13.5 bold
  ImFont* note = nullptr;        // 11.5
  ImFont* mono = nullptr;        // 13
  ImFont* mono_small = nullptr;  // 11
  ImFont* cell = nullptr;        // 9.5, numbers in narrow cells
};

class Fonts {
 public:
  /// Builds the atlas of the current ImGui context, with every character of the interface in this
  /// language. Missing font files are replaced by the next fallback, in the end ImGui's own font;
  /// problem() then says so.
  void build(float scale, Language);
  /// Takes note of the characters of `text`; true when the atlas must be built again to show them.
  bool need(std::string_view text);
  /// Are there more characters than one texture has room for?
  bool is_full(float scale) const;
  /// Whatever was needed is needed no more.
  void forget() { extra_.clear(); }
  const FontSet& set() const { return set_; }
  /// The text id of what is wrong with the fonts; empty when all is well.
  std::string_view problem() const { return problem_; }

 private:
  std::set<ImWchar> extra_;
  std::vector<ImWchar> latin_ranges_, interface_ranges_, all_ranges_;
  FontSet set_;
  std::string_view problem_;
};

/// Characters above U+FFFF do not fit ImGui's 16-bit text, and it drops private ones. Each that is
/// seen is lent a place among rare characters, both ways, so that nothing typed or pasted is lost
/// on the way through a field.
std::string to_field_text(std::string_view utf8);
std::string from_field_text(std::string_view field);
/// The place of one character (itself when it fits).
unsigned to_field_character(unsigned code_point);

}  // namespace headlight
