#include "app/ui/kit/font_astral.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/ui/kit/font_files.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-function"
// Dear ImGui 1.92 declares a type of this name, too.
#define stbrp_node stbrp_own_node
// It uses what it asked for without a look, as Dear ImGui does, whose allocator throws.
#define STBTT_malloc(bytes, user) ((void)(user), ImGui::MemAlloc(bytes))
#define STBTT_free(memory, user) ((void)(user), ImGui::MemFree(memory))
#define STBTT_STATIC
#define STB_TRUETYPE_IMPLEMENTATION
#include <stb_truetype.h>
#undef stbrp_node
#pragma GCC diagnostic pop

namespace headlight {

struct AstralGlyphs::Face {
  std::span<unsigned char> bytes;
  stbtt_fontinfo info{};
};

namespace {

struct Source {
  const char* name;
  int face;
};
constexpr std::array<Source, 3> kSources = {
    {{"Symbola_hint.ttf", 0}, {"DejaVuSans.ttf", 0}, {"NotoSansCJK-Regular.ttc", 2}}};

}  // namespace

AstralGlyphs::AstralGlyphs() = default;
AstralGlyphs::~AstralGlyphs() = default;

const AstralGlyphs::Face* AstralGlyphs::face_for(unsigned code_point) {
  for (std::size_t s = 0; s < kSources.size(); ++s) {
    if (s >= faces_.size()) {
      auto face = std::make_unique<Face>();
      face->bytes = font_bytes(first_font_file({kSources[s].name}));
      const int offset = face->bytes.empty()
                             ? -1
                             : stbtt_GetFontOffsetForIndex(face->bytes.data(), kSources[s].face);
      if (offset < 0 || !stbtt_InitFont(&face->info, face->bytes.data(), offset)) face->bytes = {};
      faces_.push_back(std::move(face));
    }
    const Face& face = *faces_[s];
    if (face.bytes.empty()) continue;
    if (stbtt_FindGlyphIndex(&face.info, static_cast<int>(code_point)) != 0) return &face;
  }
  return nullptr;
}

void AstralGlyphs::reserve(ImFontAtlas& atlas, ImFont* font, float pixels, ImWchar place,
                           unsigned code_point) {
  const Face* face = face_for(code_point);
  if (!face) return;  // shown as the font's fallback box
  const float scale = stbtt_ScaleForMappingEmToPixels(&face->info, pixels);
  int x0 = 0, y0 = 0, x1 = 0, y1 = 0, advance = 0, bearing = 0;
  stbtt_GetCodepointBitmapBox(&face->info, static_cast<int>(code_point), scale, scale, &x0, &y0,
                              &x1, &y1);
  stbtt_GetCodepointHMetrics(&face->info, static_cast<int>(code_point), &advance, &bearing);
  const float baseline = std::round(pixels * 0.8f);
  const int rect = add_glyph_place(atlas, font, place, std::max(1, x1 - x0), std::max(1, y1 - y0),
                                   static_cast<float>(advance) * scale,
                                   {static_cast<float>(x0), baseline + static_cast<float>(y0)});
  glyphs_.push_back({rect, code_point, scale, face});
}

void AstralGlyphs::paint(ImFontAtlas& atlas) {
  const AtlasPixels all = pixels_in(atlas);
  for (const Glyph& glyph : glyphs_) {
    const AtlasPlace at = place_in(atlas, glyph.rect);
    stbtt_MakeCodepointBitmap(&glyph.face->info, all.bytes + at.y * all.width + at.x, at.width,
                              at.height, all.width, glyph.pixels, glyph.pixels,
                              static_cast<int>(glyph.code_point));
  }
}

}  // namespace headlight
