#include "app/gl/heatmap/vision_filter.h"

#include <epoxy/gl.h>

namespace headlight {

VisionFilter::VisionFilter()
    : program_({embedded_stage("shaders/vision.vert"), embedded_stage("shaders/vision.frag")}),
      matrix_(program_.uniform("matrix")) {
  glGenVertexArrays(1, &vertex_array_);
}

VisionFilter::~VisionFilter() { glDeleteVertexArrays(1, &vertex_array_); }

void VisionFilter::begin(int width, int height) {
  glGetIntegerv(GL_DRAW_FRAMEBUFFER_BINDING, &target_);
  if (!picture_ || picture_->width() != width || picture_->height() != height) {
    picture_ = std::make_unique<Framebuffer>(width, height);
  }
  float ground[4] = {0, 0, 0, 1};
  glGetFloatv(GL_COLOR_CLEAR_VALUE, ground);
  picture_->clear({ground[0], ground[1], ground[2], ground[3]});
}

void VisionFilter::end(Vision vision) {
  glBindFramebuffer(GL_FRAMEBUFFER, static_cast<GLuint>(target_));
  glViewport(0, 0, picture_->width(), picture_->height());
  glDisable(GL_SCISSOR_TEST);
  glDisable(GL_BLEND);
  glDisable(GL_CULL_FACE);
  glDisable(GL_DEPTH_TEST);
  program_.use();
  glUniformMatrix3fv(matrix_, 1, GL_TRUE, vision_matrix(vision).data());
  glActiveTexture(GL_TEXTURE0);
  glBindSampler(0, 0);
  glBindTexture(GL_TEXTURE_2D, picture_->texture());
  glBindVertexArray(vertex_array_);
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
  glBindVertexArray(0);
  glBindTexture(GL_TEXTURE_2D, 0);
  glUseProgram(0);
}

}  // namespace headlight
