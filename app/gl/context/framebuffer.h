// A picture to draw into without a window.
#pragma once

#include <cstdint>
#include <vector>

#include "core/view/heatmap.h"

namespace headlight {

/// An RGBA8 picture that OpenGL draws into. Needs a current context from first to last.
class Framebuffer {
 public:
  /// Sizes in pixels. Throws UsageError for a size below 1 or above what the driver can draw, Error
  /// when the memory is not there.
  Framebuffer(int width, int height);
  ~Framebuffer();
  Framebuffer(const Framebuffer&) = delete;
  Framebuffer& operator=(const Framebuffer&) = delete;

  int width() const { return width_; }
  int height() const { return height_; }
  /// The OpenGL texture that holds the picture; its first row is the lowest one.
  unsigned texture() const { return texture_; }

  /// Draws go here from now on; sets the viewport to the whole picture.
  void bind() const;
  /// Binds, and fills the whole picture with a colour; leaves the scissor test off.
  void clear(Color) const;
  /// The picture, 4 bytes (R, G, B, A) a pixel, rows top to bottom. Waits until it is drawn.
  std::vector<std::uint8_t> read_rgba() const;

 private:
  int width_, height_;
  unsigned framebuffer_ = 0, texture_ = 0;
};

}  // namespace headlight
