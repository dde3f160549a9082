#include "app/platform/font_texture.h"

#include <epoxy/gl.h>
#include <imgui_impl_opengl3.h>

#include <cstdint>
#include <utility>

namespace headlight {
namespace {

// Whole rows, which lie one behind the other in memory.
void upload_rows(ImFontAtlas& atlas, Fonts::Rows rows) {
  unsigned char* pixels = nullptr;
  int width = 0, height = 0;
  atlas.GetTexDataAsRGBA32(&pixels, &width, &height);
  GLint before = 0;
  glGetIntegerv(GL_TEXTURE_BINDING_2D, &before);
  glBindTexture(GL_TEXTURE_2D, static_cast<GLuint>(reinterpret_cast<std::uintptr_t>(atlas.TexID)));
  glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
  glTexSubImage2D(GL_TEXTURE_2D, 0, 0, rows.first, width, rows.last - rows.first, GL_RGBA,
                  GL_UNSIGNED_BYTE, pixels + std::size_t{4} * width * rows.first);
  glBindTexture(GL_TEXTURE_2D, static_cast<GLuint>(before));
}

}  // namespace

void FontTexture::update(FontsChange change, const Fonts& fonts) {
  if (!std::exchange(is_there_, true) || change == FontsChange::kNone) return;
  if (change == FontsChange::kGrown) {
    upload_rows(*ImGui::GetIO().Fonts, fonts.grown());
  } else {
    ImGui_ImplOpenGL3_DestroyFontsTexture();
    ImGui_ImplOpenGL3_CreateFontsTexture();
  }
}

}  // namespace headlight
