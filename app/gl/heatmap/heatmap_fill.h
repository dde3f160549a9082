// Heatmap textures from buffers of the graphics card: the numbers never come to the processor.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "app/gl/context/shader.h"
#include "app/gl/heatmap/heatmap_texture.h"

namespace headlight {

/// Where a matrix lies on the device: `first` is its cell (0, 0), in floats from the beginning of a
/// buffer of `cells` floats. None of them is NaN or +∞. The strides are the quad's.
struct HeatmapSource {
  unsigned buffer = 0;  // 0: the numbers are in memory only
  std::int64_t first = 0, cells = 0;
};

/// Needs a current context from first to last.
class HeatmapFill {
 public:
  HeatmapFill();
  ~HeatmapFill();
  HeatmapFill(const HeatmapFill&) = delete;
  HeatmapFill& operator=(const HeatmapFill&) = delete;

  /// Can a shader read all of this buffer?
  bool takes(const HeatmapSource&) const;
  /// Draws one layer of an array texture, from texel (x, y) of the layout on. Leaves texture unit 0
  /// active, the framebuffer and viewport as they were, and blending, scissor and culling off.
  void draw(const HeatmapSource&, const HeatmapQuad&, const HeatmapLayout&, unsigned texture,
            int layer, int x, int y, int width, int height);

 private:
  struct Program {
    explicit Program(bool blocks);
    ShaderProgram program;
    int first, row_stride, column_stride, cells, block, corner;
  };
  std::array<std::unique_ptr<Program>, 2> programs_;  // numbers, blocks; built when first needed
  unsigned buffer_texture_ = 0, framebuffer_ = 0, vertex_array_ = 0;
  int largest_ = 0;  // cells that a buffer texture may have
};

}  // namespace headlight
