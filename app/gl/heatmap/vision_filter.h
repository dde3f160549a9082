// The whole window through other eyes: what was drawn goes through a colour matrix.
#pragma once

#include <memory>

#include "app/gl/context/framebuffer.h"
#include "app/gl/context/shader.h"
#include "core/view/color_vision.h"

namespace headlight {

/// Needs a current context from first to last.
class VisionFilter {
 public:
  VisionFilter();
  ~VisionFilter();
  VisionFilter(const VisionFilter&) = delete;
  VisionFilter& operator=(const VisionFilter&) = delete;

  /// What is drawn from now on goes into a picture of this size, cleared to the clear colour.
  void begin(int width, int height);
  /// Draws that picture, as `vision` sees it, over the framebuffer that was bound before begin().
  /// Leaves its own program, vertex array and texture bound to nothing.
  void end(Vision);

 private:
  ShaderProgram program_;
  int matrix_;
  unsigned vertex_array_ = 0;
  int target_ = 0;  // the framebuffer that was bound
  std::unique_ptr<Framebuffer> picture_;
};

}  // namespace headlight
