#include "app/platform/font_texture.h"

#include <cstdint>

#include "app/platform/backend_compat.h"

namespace headlight {
namespace {

// A pointer up to Dear ImGui 1.91.3, then a number.
ImTextureID as_id(unsigned texture) { return (ImTextureID)std::uintptr_t{texture}; }

// Rows of the atlas, which lie one behind the other in memory, into the bound texture.
void upload_rows(const ImFontAtlas& atlas, Fonts::Rows rows) {
  glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  const AtlasPixels all = pixels_in(atlas);
  glTexSubImage2D(GL_TEXTURE_2D, 0, 0, rows.first, all.width, rows.last - rows.first, GL_RED,
                  GL_UNSIGNED_BYTE, all.bytes + std::size_t(rows.first) * std::size_t(all.width));
}

// The bound texture becomes as large as the atlas. Where it is read, it is white, and what is kept
// is how much of it.
void make_texture(const ImFontAtlas& atlas) {
  constexpr GLint kWhite[] = {GL_ONE, GL_ONE, GL_ONE, GL_RED};
  glTexParameteriv(GL_TEXTURE_2D, GL_TEXTURE_SWIZZLE_RGBA, kWhite);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_LINEAR);
  const AtlasPixels all = pixels_in(atlas);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_R8, all.width, all.height, 0, GL_RED, GL_UNSIGNED_BYTE,
               nullptr);
  upload_rows(atlas, {0, all.height});
}

}  // namespace

// The backend makes its shaders together with a texture of its own, of whatever atlas is there:
// of none yet, so of ImGui's small one.
void FontTexture::begin() {
  ImGui_ImplOpenGL3_CreateDeviceObjects();
  keep_textures(ImGui::GetIO());
  ImGui::GetIO().Fonts->Clear();
  glGenTextures(1, &texture_);
}

void FontTexture::update(Frontend& frontend) {
  if (texture_ == 0) begin();
  const FontsChange change = frontend.prepare_fonts();
  if (change == FontsChange::kNone) return;
  ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  GLint before = 0;
  glGetIntegerv(GL_TEXTURE_BINDING_2D, &before);
  glBindTexture(GL_TEXTURE_2D, texture_);
  if (change == FontsChange::kGrown) {
    upload_rows(atlas, frontend.fonts().grown());
  } else {
    make_texture(atlas);
    atlas.SetTexID(as_id(texture_));
  }
  glBindTexture(GL_TEXTURE_2D, static_cast<GLuint>(before));
}

}  // namespace headlight
