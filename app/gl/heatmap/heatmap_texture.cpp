#include "app/gl/heatmap/heatmap_texture.h"

#include <epoxy/gl.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "app/gl/context/egl_context.h"
#include "app/gl/heatmap/heatmap_fill.h"
#include "core/base/error.h"

namespace headlight {
namespace {

constexpr std::size_t kStagingFloats = std::size_t{1} << 20;

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// OpenGL reads lines of neighbouring floats, each line a fixed distance after the one before.
bool readable(std::int64_t lines, std::int64_t line_stride, std::int64_t texels,
              std::int64_t texel_stride) {
  const bool neighbours = texels == 1 || texel_stride == 1;
  const bool in_order =
      lines == 1 || (line_stride >= texels && line_stride <= std::numeric_limits<int>::max());
  return neighbours && in_order;
}

void split(HeatmapLayout& layout, int max_size) {
  const auto cut = [max_size](int texels, int& tile, int& count) {
    count = static_cast<int>(divide_up(texels, max_size));
    tile = static_cast<int>(divide_up(texels, count));  // equal tiles waste less than full ones
  };
  cut(layout.width, layout.tile_width, layout.tiles_across);
  cut(layout.height, layout.tile_height, layout.tiles_down);
}

struct Tile {
  int x, y, width, height, layer;
};

/// Lets OpenGL read the caller's memory, or the pixel unpack buffer that is bound: `first` is an
/// address in the one, an offset in the other. Both are counted as whole numbers, because nothing
/// may be added to a null pointer.
void upload_direct(std::uintptr_t first, const HeatmapLayout& layout, const Tile& tile) {
  const std::int64_t line = layout.height == 1 ? layout.width : layout.line_stride;
  glPixelStorei(GL_UNPACK_ROW_LENGTH, static_cast<GLint>(line));
  const auto cells = static_cast<std::uintptr_t>(tile.y * line + tile.x);
  glTexSubImage3D(GL_TEXTURE_2D_ARRAY, 0, 0, 0, tile.layer, tile.width, tile.height, 1, GL_RED,
                  GL_FLOAT, reinterpret_cast<const void*>(first + cells * sizeof(float)));
}

/// Gathers lines in `staging` and uploads them band by band.
void upload_gathered(const float* data, const HeatmapLayout& layout, const Tile& tile,
                     std::vector<float>& staging) {
  const std::size_t width = static_cast<std::size_t>(tile.width);
  const int band = std::clamp(static_cast<int>(kStagingFloats / width), 1, tile.height);
  staging.resize(std::max(staging.size(), width * static_cast<std::size_t>(band)));
  glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
  for (int y0 = 0; y0 < tile.height; y0 += band) {
    const int lines = std::min(band, tile.height - y0);
    float* out = staging.data();
    for (int y = 0; y < lines; ++y) {
      const float* in =
          data + (tile.y + y0 + y) * layout.line_stride + tile.x * layout.texel_stride;
      for (int x = 0; x < tile.width; ++x) *out++ = in[x * layout.texel_stride];
    }
    glTexSubImage3D(GL_TEXTURE_2D_ARRAY, 0, 0, y0, tile.layer, tile.width, lines, 1, GL_RED,
                    GL_FLOAT, staging.data());
  }
}

void upload_blocks(const std::vector<BlockCell>& blocks, const HeatmapLayout& layout,
                   const Tile& tile) {
  glPixelStorei(GL_UNPACK_ROW_LENGTH, layout.width);
  const BlockCell* corner = blocks.data() + static_cast<std::ptrdiff_t>(tile.y) * layout.width;
  glTexSubImage3D(GL_TEXTURE_2D_ARRAY, 0, 0, 0, tile.layer, tile.width, tile.height, 1, GL_RG,
                  GL_FLOAT, corner + tile.x);
}

template <class F>
void for_each_tile(const HeatmapLayout& layout, const F& work) {
  for (int ty = 0; ty < layout.tiles_down; ++ty) {
    for (int tx = 0; tx < layout.tiles_across; ++tx) {
      const int x = tx * layout.tile_width, y = ty * layout.tile_height;
      const Tile tile = {x, y, std::min(layout.tile_width, layout.width - x),
                         std::min(layout.tile_height, layout.height - y),
                         ty * layout.tiles_across + tx};
      if (tile.width > 0 && tile.height > 0) work(tile);
    }
  }
}

void upload(const HeatmapQuad& quad, const HeatmapLayout& layout, std::vector<float>& staging,
            int first_layer = 0) {
  std::vector<BlockCell> blocks;
  if (layout.reduced) blocks = strongest_blocks(quad, layout.row_step, layout.column_step);
  for_each_tile(layout, [&](Tile tile) {
    tile.layer += first_layer;
    if (layout.reduced) {
      upload_blocks(blocks, layout, tile);
    } else if (layout.direct) {
      upload_direct(reinterpret_cast<std::uintptr_t>(quad.data), layout, tile);
    } else {
      upload_gathered(quad.data, layout, tile, staging);
    }
  });
}

}  // namespace

HeatmapLayout plan_heatmap_texture(const HeatmapQuad& quad, int max_size, int max_layers,
                                   bool reduced, int row_step, int column_step) {
  HeatmapLayout layout;
  layout.reduced = reduced;
  for (;; row_step *= 2, column_step *= 2, layout.reduced = true) {
    const std::int64_t rows = divide_up(quad.rows, row_step);
    const std::int64_t columns = divide_up(quad.columns, column_step);
    // A block is two numbers.
    const std::int64_t most = HeatmapLayout::kMaxCells / (layout.reduced ? 2 : 1);
    if (rows > most / columns) continue;
    if (divide_up(rows, max_size) * divide_up(columns, max_size) > max_layers) continue;
    layout.row_step = row_step;
    layout.column_step = column_step;
    layout.rows = static_cast<int>(rows);
    layout.columns = static_cast<int>(columns);
    break;
  }
  const std::int64_t row_stride = quad.row_stride, column_stride = quad.column_stride;
  const bool plain =
      !layout.reduced && readable(layout.rows, row_stride, layout.columns, column_stride);
  layout.transposed =
      !layout.reduced && !plain && readable(layout.columns, column_stride, layout.rows, row_stride);
  layout.direct = plain || layout.transposed;
  layout.width = layout.transposed ? layout.rows : layout.columns;
  layout.height = layout.transposed ? layout.columns : layout.rows;
  layout.line_stride = layout.transposed ? column_stride : row_stride;
  layout.texel_stride = layout.transposed ? row_stride : column_stride;
  split(layout, max_size);
  return layout;
}

HeatmapTexture::HeatmapTexture(const HeatmapQuad& quad, const HeatmapLayout& layout,
                               std::vector<float>& staging)
    : layout_(layout) {
  begin();
  upload(quad, layout, staging);
  end(quad);
}

HeatmapTexture::HeatmapTexture(const HeatmapQuad& quad, const HeatmapLayout& layout,
                               const HeatmapSource& source, HeatmapFill& fill)
    : layout_(layout) {
  begin();
  if (layout.direct) {
    // OpenGL reads the buffer as it would read memory: offsets take the place of addresses.
    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, source.buffer);
    const auto first = static_cast<std::uintptr_t>(source.first) * sizeof(float);
    for_each_tile(layout, [&](const Tile& tile) { upload_direct(first, layout, tile); });
    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  } else {
    for_each_tile(layout, [&](const Tile& tile) {
      fill.draw(source, quad, layout, id_, tile.layer, tile.x, tile.y, tile.width, tile.height);
    });
  }
  end(quad);
}

HeatmapTexture::HeatmapTexture(const HeatmapQuad& quad, const HeatmapLayout& layout, int count)
    : layout_(layout), count_(count) {
  begin();
  end(quad);
}

void HeatmapTexture::fill(int index, const HeatmapQuad& quad, std::vector<float>& staging) {
  bind();
  upload(quad, layout_, staging, index);
  glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
  glBindTexture(GL_TEXTURE_2D_ARRAY, 0);
}

void HeatmapTexture::bind() {
  glActiveTexture(GL_TEXTURE0);
  glBindTexture(GL_TEXTURE_2D_ARRAY, id_);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
}

void HeatmapTexture::begin() {
  // Errors that someone else left would be taken for ours. A lost context reports without end.
  for (int i = 0; i < 16 && glGetError() != GL_NO_ERROR; ++i) {
  }
  glGenTextures(1, &id_);
  bind();
  glTexParameteri(GL_TEXTURE_2D_ARRAY, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D_ARRAY, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D_ARRAY, GL_TEXTURE_MAX_LEVEL, 0);
  glTexImage3D(GL_TEXTURE_2D_ARRAY, 0, layout_.reduced ? GL_RG32F : GL_R32F, layout_.tile_width,
               layout_.tile_height, layout_.layers() * count_, 0, layout_.reduced ? GL_RG : GL_RED,
               GL_FLOAT, nullptr);
}

void HeatmapTexture::end(const HeatmapQuad& quad) {
  glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
  const GLenum error = glGetError();
  glBindTexture(GL_TEXTURE_2D_ARRAY, 0);
  if (error == GL_NO_ERROR) return;
  glDeleteTextures(1, &id_);
  throw Error("A heatmap of " + std::to_string(quad.rows) + " x " + std::to_string(quad.columns) +
              " numbers (" + std::to_string(bytes() >> 20) +
              " MiB) did not fit into the graphics memory of " + gl_description() +
              " (OpenGL error " + std::to_string(error) +
              "); close other pictures or choose a smaller model.");
}

HeatmapTexture::~HeatmapTexture() { glDeleteTextures(1, &id_); }

}  // namespace headlight
