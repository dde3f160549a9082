// Fonts of Dear ImGui, 1.86 to 1.92. From 1.92 on letters may be drawn one by one and in any size,
// by whoever looks after the textures that then change; here they are made before they are drawn,
// as ever: each font in one size.
#pragma once

#include <imgui.h>
//
#include <imgui_internal.h>

#include <cmath>
#include <span>

#if IMGUI_VERSION_NUM < 19200
// Declared by ImGui only for programs that compile it themselves.
const ImFontBuilderIO* ImFontAtlasGetBuilderForStbTruetype();
#endif

namespace headlight {

/// The bytes of an atlas, one a pixel, row by row.
struct AtlasPixels {
  unsigned char* bytes = nullptr;
  int width = 0, height = 0;
};

/// A place in an atlas, in pixels.
struct AtlasPlace {
  int x = 0, y = 0, width = 0, height = 0;
};

#if IMGUI_VERSION_NUM >= 19200

/// The size of a font's letters, in pixels.
inline float font_size(const ImFont* font) {
  return font->Sources[font->Sources.Size > 1 ? 1 : 0]->SizePixels;
}
/// The size with which ImGui is asked to draw letters as they are.
inline float drawn_size(const ImFont* font) { return font->LegacySize; }
/// Before a font's first face is added: ImGui rounds the size of a font, but not that of the faces
/// that are merged into it, so this one becomes such a face of a font without letters.
inline void begin_font(ImFontAtlas& atlas, std::span<unsigned char> bytes, float size,
                       ImFontConfig& first) {
  static constexpr ImWchar kAll[] = {1, 0xFFFF, 0};
  ImFontConfig empty = first;
  empty.GlyphExcludeRanges = kAll;
  atlas.AddFontFromMemoryTTF(bytes.data(), static_cast<int>(bytes.size()), std::round(size),
                             &empty);
  atlas.Sources.back().FontDataOwnedByAtlas = false;
  first.MergeMode = true;
}

// ImGui makes them with the font; to look them up changes nothing.
inline ImFontBaked& letters_of(const ImFont* font) {
  return *const_cast<ImFont*>(font)->GetFontBaked(font->LegacySize);
}
inline const ImFontGlyph* find_glyph(const ImFont* font, ImWchar c) {
  return letters_of(font).FindGlyph(c);
}
inline const ImFontGlyph* find_own_glyph(const ImFont* font, ImWchar c) {
  return letters_of(font).FindGlyphNoFallback(c);
}
inline float char_advance(const ImFont* font, ImWchar c) {
  return letters_of(font).GetCharAdvance(c);
}
inline const ImVector<ImFontGlyph>& glyphs_of(const ImFont* font) {
  return letters_of(font).Glyphs;
}

inline void begin_atlas(ImFontAtlas& atlas) {
  atlas.SetFontLoader(ImFontAtlasGetFontLoaderForStbTruetype());
  atlas.TexDesiredFormat = ImTextureFormat_Alpha8;
}
inline void set_width(ImFontAtlas& atlas, int width) {
  atlas.TexMinWidth = atlas.TexMaxWidth = width;
}
/// The file of the face that was added last stays ours.
inline void keep_file(ImFontAtlas& atlas) { atlas.Sources.back().FontDataOwnedByAtlas = false; }
inline int add_place(ImFontAtlas& atlas, int width, int height) {
  return atlas.AddCustomRect(width, height);
}
inline int add_glyph_place(ImFontAtlas& atlas, ImFont* font, ImWchar c, int width, int height,
                           float advance, ImVec2 offset) {
  const int rect = atlas.AddCustomRectFontGlyph(font, c, width, height, advance, offset);
  letters_of(font).Glyphs.back().Colored = false;
  return rect;
}
inline AtlasPlace place_in(const ImFontAtlas& atlas, int rect) {
  ImFontAtlasRect at;
  return atlas.GetCustomRect(rect, &at) ? AtlasPlace{at.x, at.y, at.w, at.h} : AtlasPlace();
}
inline AtlasPixels pixels_in(const ImFontAtlas& atlas) {
  return {atlas.TexData->Pixels, atlas.TexData->Width, atlas.TexData->Height};
}
inline void build(ImFontAtlas& atlas) {
  atlas.Build();
  for (ImFont* font : atlas.Fonts)
    font->Flags |= ImFontFlags_LockBakedSizes | ImFontFlags_NoLoadGlyphs;
}
/// Of a glyph whose pixels lie in the atlas already; after the last one end_glyphs().
inline void add_glyph(ImFontAtlas& atlas, ImFont& font, ImFontGlyph glyph) {
  glyph.PackId = ImFontAtlasRectId_Invalid;
  ImFontAtlasBakedAddFontGlyph(&atlas, &letters_of(&font), nullptr, &glyph);
}
inline void end_glyphs(ImFont&) {}

#else

// 1.90 and 1.91 round it down.
inline float font_size(const ImFont* font) { return font->FontSize; }
inline float drawn_size(const ImFont* font) { return font->FontSize; }
inline void begin_font(ImFontAtlas&, std::span<unsigned char>, float, ImFontConfig&) {}

inline const ImFontGlyph* find_glyph(const ImFont* font, ImWchar c) { return font->FindGlyph(c); }
inline const ImFontGlyph* find_own_glyph(const ImFont* font, ImWchar c) {
  return font->FindGlyphNoFallback(c);
}
inline float char_advance(const ImFont* font, ImWchar c) { return font->GetCharAdvance(c); }
inline const ImVector<ImFontGlyph>& glyphs_of(const ImFont* font) { return font->Glyphs; }

inline void begin_atlas(ImFontAtlas& atlas) {
  // Not FreeType: through ImGui 1.86 it rounds every letter's width up, which pulls words apart.
  atlas.FontBuilderIO = ImFontAtlasGetBuilderForStbTruetype();
  atlas.Flags |= ImFontAtlasFlags_NoPowerOfTwoHeight;
}
inline void set_width(ImFontAtlas& atlas, int width) { atlas.TexDesiredWidth = width; }
inline void keep_file(ImFontAtlas& atlas) { atlas.ConfigData.back().FontDataOwnedByAtlas = false; }
inline int add_place(ImFontAtlas& atlas, int width, int height) {
  return atlas.AddCustomRectRegular(width, height);
}
inline int add_glyph_place(ImFontAtlas& atlas, ImFont* font, ImWchar c, int width, int height,
                           float advance, ImVec2 offset) {
  return atlas.AddCustomRectFontGlyph(font, c, width, height, advance, offset);
}
inline AtlasPlace place_in(ImFontAtlas& atlas, int rect) {
  const ImFontAtlasCustomRect* at = atlas.GetCustomRectByIndex(rect);
  return {at->X, at->Y, at->Width, at->Height};
}
inline AtlasPixels pixels_in(const ImFontAtlas& atlas) {
  return {atlas.TexPixelsAlpha8, atlas.TexWidth, atlas.TexHeight};
}
inline void build(ImFontAtlas& atlas) { atlas.Build(); }
inline void add_glyph(ImFontAtlas&, ImFont& font, const ImFontGlyph& g) {
  font.AddGlyph(nullptr, static_cast<ImWchar>(g.Codepoint), g.X0, g.Y0, g.X1, g.Y1, g.U0, g.V0,
                g.U1, g.V1, g.AdvanceX);
}
inline void end_glyphs(ImFont& font) { font.BuildLookupTable(); }

#endif

}  // namespace headlight
