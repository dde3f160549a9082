// Characters that come later are drawn into the room that the atlas keeps, as all others are.
#include <cmath>
#include <cstring>

#include "core/base/utf8.h"
#include "tests/gui/harness.h"

namespace headlight::test {
namespace {

struct PixelRect {
  int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

PixelRect pixels_of(const ImFontAtlas& atlas, const ImFontGlyph& g) {
  const auto at = [](float share, int size) {
    return static_cast<int>(std::lround(share * static_cast<float>(size)));
  };
  const AtlasPixels all = pixels_in(atlas);
  return {at(g.U0, all.width), at(g.V0, all.height), at(g.U1, all.width), at(g.V1, all.height)};
}

// The picture of a glyph, row by row.
std::vector<unsigned char> picture(const ImFontAtlas& atlas, const ImFontGlyph& g) {
  const PixelRect at = pixels_of(atlas, g);
  std::vector<unsigned char> pixels;
  for (int y = at.y0; y < at.y1; ++y) {
    const AtlasPixels all = pixels_in(atlas);
    const unsigned char* row = all.bytes + y * all.width;
    pixels.insert(pixels.end(), row + at.x0, row + at.x1);
  }
  return pixels;
}

// Chinese, Cyrillic, an emoji, a line end, a letter of the interface.
constexpr std::u32string_view kLater = U"龙鹤Жщ🎉\nλ";

struct GlyphLook {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0, advance = 0;
  std::vector<unsigned char> pixels;
  bool operator==(const GlyphLook&) const = default;
};

// How each font shows these characters; nothing where it lacks one.
std::vector<std::optional<GlyphLook>> looks() {
  const ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  std::vector<std::optional<GlyphLook>> found;
  for (const ImFont* font : atlas.Fonts) {
    for (const char32_t c : kLater) {
      const ImFontGlyph* g = find_own_glyph(font, static_cast<ImWchar>(to_line_character(c)));
      found.emplace_back();
      if (g) found.back() = {g->X0, g->Y0, g->X1, g->Y1, g->AdvanceX, picture(atlas, *g)};
    }
  }
  return found;
}

TEST_CASE("fonts: a character that comes later looks as one that was there from the start") {
  for (const float scale : {1.0f, 2.0f, 3.0f}) {
    for (const Language language : {Language::kEnglish, Language::kChinese}) {
      CAPTURE(scale);
      const ImGuiHost host;
      std::string text;
      for (const char32_t c : kLater) text += to_utf8(c);
      Fonts at_once;
      at_once.need(text);
      at_once.build(scale, language);
      const auto expected = looks();
      Fonts later;
      later.build(scale, language);
      CHECK(looks() != expected);
      later.need(text);
      REQUIRE(later.grow());
      CHECK(looks() == expected);
      CHECK(later.grown().last > later.grown().first);
      CHECK(later.grow());  // nothing is lacking
      CHECK(later.grown().last == later.grown().first);
    }
  }
}

TEST_CASE("fonts: where the room is used up it is said, and a new atlas has all") {
  const ImGuiHost host;
  Fonts fonts;
  fonts.build(1, Language::kEnglish);
  char32_t c = 0x4E00;
  bool grows = true;
  while (grows && c < 0x6000) {
    std::string text;
    for (int i = 0; i < 20; ++i) text += to_utf8(c++);
    fonts.need(text);
    grows = fonts.grow();
  }
  CHECK_FALSE(grows);
  CHECK(c > 0x4E00 + 100);  // more than a hundred went in one by one
  fonts.build(1, Language::kEnglish);
  CHECK_FALSE(fonts.is_lacking());
  for (char32_t there = 0x4E00; there < c; ++there)
    CHECK(find_own_glyph(fonts.set().body, static_cast<ImWchar>(there)));
  // No two glyphs share pixels.
  fonts.need("龙鹤");
  REQUIRE(fonts.grow());
  const ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  std::vector<int> taken(static_cast<std::size_t>(pixels_in(atlas).width) *
                         pixels_in(atlas).height);
  int shared = 0;
  for (const ImFont* font : atlas.Fonts) {
    for (const ImFontGlyph& g : glyphs_of(font)) {
      if (!g.Visible || g.Codepoint < 0x2E80) continue;
      const PixelRect at = pixels_of(atlas, g);
      for (int y = at.y0; y < at.y1; ++y) {
        for (int x = at.x0; x < at.x1; ++x)
          shared += std::exchange(taken[y * pixels_in(atlas).width + x], 1);
      }
    }
  }
  CHECK(shared == 0);
}

TEST_CASE("fonts: what is typed anywhere has its characters one frame later") {
  Gui gui({}, {1280, 720});
  gui.frame();
  gui.push(DoCommand{Command::kPalette});
  gui.frame(2);
  REQUIRE(gui.in_field());
  gui.type("\u9E64");
  gui.frame(2);
  CHECK(gui.state().session.palette_typed == "\u9E64");
  gui.frame();
  CHECK(gui.shows("\u9E64"));
  CHECK_FALSE(gui.shows("\uFFFD"));
}

}  // namespace
}  // namespace headlight::test
