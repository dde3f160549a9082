#include "app/gl/heatmap/heatmap_fill.h"

#include <epoxy/gl.h>

#include <string>

namespace headlight {

HeatmapFill::Program::Program(bool blocks)
    : program([blocks] {
        const ShaderStage fragment = embedded_stage("shaders/heatmap_fill.frag");
        const std::string text = with_defines(fragment.text, blocks ? "#define BLOCKS\n" : "");
        return ShaderProgram(
            {embedded_stage("shaders/vision.vert"), {fragment.kind, fragment.name, text}});
      }()),
      first(program.uniform("first")),
      row_stride(program.uniform("row_stride")),
      column_stride(program.uniform("column_stride")),
      cells(program.uniform("cells")),
      block(program.uniform("block")),
      corner(program.uniform("corner")) {}

HeatmapFill::HeatmapFill() {
  glGetIntegerv(GL_MAX_TEXTURE_BUFFER_SIZE, &largest_);
  glGenTextures(1, &buffer_texture_);
  glGenFramebuffers(1, &framebuffer_);
  glGenVertexArrays(1, &vertex_array_);
}

HeatmapFill::~HeatmapFill() {
  glDeleteVertexArrays(1, &vertex_array_);
  glDeleteFramebuffers(1, &framebuffer_);
  glDeleteTextures(1, &buffer_texture_);
}

bool HeatmapFill::takes(const HeatmapSource& source) const { return source.cells <= largest_; }

void HeatmapFill::draw(const HeatmapSource& source, const HeatmapQuad& quad,
                       const HeatmapLayout& layout, unsigned texture, int layer, int x, int y,
                       int width, int height) {
  std::unique_ptr<Program>& at = programs_[layout.reduced ? 1 : 0];
  if (!at) at = std::make_unique<Program>(layout.reduced);
  GLint target = 0, viewport[4] = {};
  glGetIntegerv(GL_DRAW_FRAMEBUFFER_BINDING, &target);
  glGetIntegerv(GL_VIEWPORT, viewport);
  glBindFramebuffer(GL_DRAW_FRAMEBUFFER, framebuffer_);
  glFramebufferTextureLayer(GL_DRAW_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, texture, 0, layer);
  glViewport(0, 0, width, height);
  glDisable(GL_SCISSOR_TEST);
  glDisable(GL_BLEND);
  glDisable(GL_CULL_FACE);
  glDisable(GL_DEPTH_TEST);
  glDisable(GL_STENCIL_TEST);
  at->program.use();
  const auto whole = [](std::int64_t n) { return static_cast<GLint>(n); };
  glUniform1i(at->first, whole(source.first));
  glUniform1i(at->row_stride, whole(quad.row_stride));
  glUniform1i(at->column_stride, whole(quad.column_stride));
  glUniform2i(at->cells, whole(quad.columns), whole(quad.rows));
  glUniform2i(at->block, layout.column_step, layout.row_step);
  glUniform2i(at->corner, x, y);
  glActiveTexture(GL_TEXTURE0);
  glBindSampler(0, 0);
  glBindTexture(GL_TEXTURE_BUFFER, buffer_texture_);
  glTexBuffer(GL_TEXTURE_BUFFER, GL_R32F, source.buffer);
  glBindVertexArray(vertex_array_);
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
  glTexBuffer(GL_TEXTURE_BUFFER, GL_R32F, 0);
  glBindTexture(GL_TEXTURE_BUFFER, 0);
  glFramebufferTextureLayer(GL_DRAW_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, 0, 0, 0);
  glBindFramebuffer(GL_DRAW_FRAMEBUFFER, static_cast<GLuint>(target));
  glViewport(viewport[0], viewport[1], viewport[2], viewport[3]);
}

}  // namespace headlight
