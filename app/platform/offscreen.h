// The very window, drawn without one: for screenshots, reports and tests.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "app/platform/frontend.h"

namespace headlight {

class ComputeContext;
class HeatmapBridge;

class Offscreen {
 public:
  /// Throws Error when there is no OpenGL 3.3 to be had.
  Offscreen(Shell&, int width, int height);
  ~Offscreen();
  /// Builds and draws frames until nothing changes any more; the last one as RGBA, top row first.
  std::vector<std::uint8_t> picture();
  /// One frame, drawn.
  void frame();
  /// The frame drawn last.
  std::vector<std::uint8_t> read();
  Frontend& frontend();
  /// What draws the heatmaps.
  const HeatmapBridge& bridge() const;
  /// For computing what this draws, from the same buffers; must go before this.
  std::unique_ptr<ComputeContext> compute_context() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace headlight
