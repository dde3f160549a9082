// The numbers of one heatmap in graphics memory, as they are: colours are the shader's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/view/heatmap.h"

namespace headlight {

/// How a matrix is laid out in a texture of 32-bit floats.
///
/// A matrix wider or higher than one texture may be is split into tiles, the layers of an array
/// texture; nothing is lost and one draw still shows it all. Where a pixel covers several cells,
/// and past kMaxCells cells (256 MiB) or more tiles than the driver has layers, the texture holds
/// blocks of cells (strongest_blocks()).
struct HeatmapLayout {
  static constexpr std::int64_t kMaxCells = std::int64_t{1} << 26;

  bool reduced = false;  // blocks of row_step × column_step cells
  int row_step = 1, column_step = 1;
  int rows = 0, columns = 0;                       // cells, or blocks
  bool transposed = false;                         // a texture row holds a matrix column
  bool direct = false;                             // OpenGL can read the caller's memory as it lies
  std::int64_t line_stride = 0, texel_stride = 0;  // in floats, along texture y and x
  int width = 0, height = 0;                       // texels in all
  int tile_width = 0, tile_height = 0;             // texels of one layer
  int tiles_across = 1, tiles_down = 1;

  int layers() const { return tiles_across * tiles_down; }
  std::size_t bytes() const {
    return (reduced ? sizeof(BlockCell) : sizeof(float)) * static_cast<std::size_t>(tile_width) *
           static_cast<std::size_t>(tile_height) * static_cast<std::size_t>(layers());
  }
};

/// The layout for a matrix of at least one cell, on a driver with textures of up to max_size texels
/// a side and max_layers layers. `reduced` asks for blocks, of these steps at least.
HeatmapLayout plan_heatmap_texture(const HeatmapQuad&, int max_size, int max_layers,
                                   bool reduced = false, int row_step = 1, int column_step = 1);

class HeatmapFill;
struct HeatmapSource;

/// The texture of one matrix. Needs a current context from first to last.
class HeatmapTexture {
 public:
  /// Copies the numbers to graphics memory; `staging` is room for those that OpenGL cannot read as
  /// they lie (it grows to 4 MiB, or one texture row, and can be used again). Leaves texture unit 0
  /// active without an array texture, no unpack buffer and the unpack parameters at their defaults.
  /// Throws Error when graphics memory is full.
  HeatmapTexture(const HeatmapQuad&, const HeatmapLayout&, std::vector<float>& staging);
  /// The same from a buffer of the device, where the quad's numbers are not looked at. Leaves what
  /// HeatmapFill::draw() leaves as well.
  HeatmapTexture(const HeatmapQuad&, const HeatmapLayout&, const HeatmapSource&, HeatmapFill&);
  /// Room for `count` matrices of this layout, which has one tile; each is filled by itself.
  HeatmapTexture(const HeatmapQuad&, const HeatmapLayout&, int count);
  /// Copies the numbers of one of them, as the first constructor does.
  void fill(int index, const HeatmapQuad&, std::vector<float>& staging);
  ~HeatmapTexture();
  HeatmapTexture(const HeatmapTexture&) = delete;
  HeatmapTexture& operator=(const HeatmapTexture&) = delete;

  unsigned id() const { return id_; }
  const HeatmapLayout& layout() const { return layout_; }
  std::size_t bytes() const { return layout_.bytes() * static_cast<std::size_t>(count_); }

 private:
  void begin();
  void bind();
  void end(const HeatmapQuad&);

  unsigned id_ = 0;
  HeatmapLayout layout_;
  int count_ = 1;
};

}  // namespace headlight
