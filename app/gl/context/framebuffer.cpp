#include "app/gl/context/framebuffer.h"

#include <epoxy/gl.h>

#include <algorithm>
#include <array>
#include <string>

#include "app/gl/context/egl_context.h"
#include "core/base/error.h"

namespace headlight {
namespace {

void check_size(int width, int height) {
  const std::string size = std::to_string(width) + " x " + std::to_string(height);
  if (width < 1 || height < 1) {
    throw UsageError("A picture of " + size +
                     " pixels cannot be drawn; give a width and a height of at least 1.");
  }
  GLint texture_limit = 0;
  std::array<GLint, 2> viewport_limit{};
  glGetIntegerv(GL_MAX_TEXTURE_SIZE, &texture_limit);
  glGetIntegerv(GL_MAX_VIEWPORT_DIMS, viewport_limit.data());
  const int widest = std::min(texture_limit, viewport_limit[0]);
  const int highest = std::min(texture_limit, viewport_limit[1]);
  if (width > widest || height > highest) {
    throw UsageError("A picture of " + size + " pixels is too large for this machine's driver (" +
                     gl_description() + "), which draws up to " + std::to_string(widest) + " x " +
                     std::to_string(highest) + "; choose a smaller size.");
  }
}

}  // namespace

Framebuffer::Framebuffer(int width, int height) : width_(width), height_(height) {
  check_size(width, height);
  GLint bound_texture = 0, bound_framebuffer = 0;
  glGetIntegerv(GL_TEXTURE_BINDING_2D, &bound_texture);
  glGetIntegerv(GL_DRAW_FRAMEBUFFER_BINDING, &bound_framebuffer);
  glGenTextures(1, &texture_);
  glBindTexture(GL_TEXTURE_2D, texture_);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAX_LEVEL, 0);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
  glBindTexture(GL_TEXTURE_2D, static_cast<GLuint>(bound_texture));
  glGenFramebuffers(1, &framebuffer_);
  glBindFramebuffer(GL_DRAW_FRAMEBUFFER, framebuffer_);
  glFramebufferTexture2D(GL_DRAW_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture_, 0);
  const GLenum status = glCheckFramebufferStatus(GL_DRAW_FRAMEBUFFER);
  glBindFramebuffer(GL_DRAW_FRAMEBUFFER, static_cast<GLuint>(bound_framebuffer));
  if (status != GL_FRAMEBUFFER_COMPLETE) {
    glDeleteFramebuffers(1, &framebuffer_);
    glDeleteTextures(1, &texture_);
    throw Error("A picture of " + std::to_string(width) + " x " + std::to_string(height) +
                " pixels could not be made on " + gl_description() +
                "; the graphics memory may be full: choose a smaller size.");
  }
}

Framebuffer::~Framebuffer() {
  glDeleteFramebuffers(1, &framebuffer_);
  glDeleteTextures(1, &texture_);
}

void Framebuffer::bind() const {
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer_);
  glViewport(0, 0, width_, height_);
}

void Framebuffer::clear(Color color) const {
  bind();
  glDisable(GL_SCISSOR_TEST);
  glClearColor(color.r, color.g, color.b, color.a);
  glClear(GL_COLOR_BUFFER_BIT);
}

std::vector<std::uint8_t> Framebuffer::read_rgba() const {
  const std::size_t row = static_cast<std::size_t>(width_) * 4;
  std::vector<std::uint8_t> pixels(row * static_cast<std::size_t>(height_));
  GLint bound = 0;
  glGetIntegerv(GL_READ_FRAMEBUFFER_BINDING, &bound);
  glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer_);
  glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
  glReadPixels(0, 0, width_, height_, GL_RGBA, GL_UNSIGNED_BYTE, pixels.data());
  glBindFramebuffer(GL_READ_FRAMEBUFFER, static_cast<GLuint>(bound));
  // OpenGL's first row is the lowest.
  auto top = pixels.begin();
  auto bottom = pixels.end() - static_cast<std::ptrdiff_t>(row);
  for (; top < bottom;
       top += static_cast<std::ptrdiff_t>(row), bottom -= static_cast<std::ptrdiff_t>(row)) {
    std::swap_ranges(top, top + static_cast<std::ptrdiff_t>(row), bottom);
  }
  return pixels;
}

}  // namespace headlight
