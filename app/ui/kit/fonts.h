// Fonts: Inter for words, JetBrains Mono for numbers, Noto Sans CJK and DejaVu for the rest, each
// with fallbacks. The atlas holds only the characters that are on the screen, so that Chinese costs
// nothing until it is typed.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "app/ui/kit/field_text.h"
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
  /// language and all that were needed. Missing font files are replaced by the next fallback, in
  /// the end ImGui's own font; problem() then says so.
  void build(float scale, Language);
  /// Takes note of the characters of `text`.
  void need(std::string_view text);
  /// Is one needed that the atlas was not built with?
  bool is_lacking() const { return !lacking_.empty(); }
  /// Draws those that are lacking into the room that the atlas keeps for them, a fraction of a
  /// millisecond for each. False when that room is used up: build() then makes new.
  bool grow();
  /// The rows of the atlas that the last grow() drew in, [first, last).
  struct Rows {
    int first = 0, last = 0;
  };
  Rows grown() const { return grown_; }
  /// Are there more characters than one texture has room for?
  bool is_full() const;
  /// Whatever was needed is needed no more.
  void forget() {
    extra_.clear();
    lacking_.clear();
  }
  const FontSet& set() const { return set_; }
  /// The text id of what is wrong with the fonts; empty when all is well.
  std::string_view problem() const { return problem_; }

 private:
  // Where the next glyph goes: from left to right, in lines as high as their highest.
  struct Room {
    int left = 0, top = 0, right = 0, bottom = 0;
    int x = 0, y = 0, line = 0;
  };
  bool take_in(const ImFontAtlas& fresh, const ImFontGlyph&, ImFont&);

  std::set<ImWchar> interface_, extra_;
  std::vector<ImWchar> lacking_;
  float scale_ = 1;
  Language language_ = Language::kEnglish;
  Room room_;
  Rows grown_;
  FontSet set_;
  std::string_view problem_;
};

}  // namespace headlight
