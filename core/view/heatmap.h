// Heatmaps without a window: which colour a number has, and what a renderer needs to draw a matrix.
// The legend, the numbers written in cells and the GPU's fragment shader all follow color_at().
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/cell_range.h"

namespace headlight {

/// Straight (not premultiplied) sRGB, each 0..1.
struct Color {
  float r = 0, g = 0, b = 0, a = 1;
  bool operator==(const Color&) const = default;
};
constexpr Color rgb(std::uint32_t hex) {
  return {static_cast<float>(hex >> 16 & 255) / 255.0f, static_cast<float>(hex >> 8 & 255) / 255.0f,
          static_cast<float>(hex & 255) / 255.0f, 1.0f};
}
Color mix(Color a, Color b, float t);
/// Relative luminance (WCAG 2), 0 black .. 1 white.
float luminance(Color);
/// Contrast ratio (WCAG 2), 1..21.
float contrast(Color, Color);

enum class ColorMap {
  kDiverging,   // signed values: low colour, centre at 0, high colour
  kSequential,  // weights: centre colour at 0, high colour at `limit`, exponent 0.75
};

/// How numbers become colours in one picture. The legend is made from the same value.
struct ColorScale {
  ColorMap map = ColorMap::kDiverging;
  float limit = 1;  // the value of the full colour; diverging: −limit .. limit
  Color low, center, high;
  Color hatch;    // lines over `center` where the value is −∞
  Color invalid;  // NaN and +∞: loud checks of this colour
  bool operator==(const ColorScale&) const = default;
};

/// The colour of a number. −∞ gives `center` (the hatching is drawn over it), NaN and +∞ `invalid`.
Color color_at(const ColorScale&, float value);

/// One matrix to be drawn: cell (r, c) is data[r·row_stride + c·column_stride].
struct HeatmapQuad {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;  // where, in framebuffer pixels, y down
  const float* data = nullptr;           // must stay alive until the frame is drawn
  std::int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 1;
  std::uint64_t key = 0;  // equal keys promise equal numbers: the texture is kept
  float unit = 1;         // pixels of one design pixel: how wide hatching and checks are
  float gap = 0;          // pixels left free between cells when there is room
  ColorScale scale;
  // Of columns that belong to heads (Pane::head_stride): so many to each, and from the first of one
  // to the first of the next; 0: they follow each other.
  std::int64_t head_columns = 0, head_stride = 0;
};

/// Several cells in one, for pictures in which a pixel covers several.
struct BlockCell {
  float value = 0;  // the finite number of the largest magnitude; NaN when a number is NaN or +∞
  float forbidden = 0;  // the share of −∞
};

/// The matrix in blocks of row_step × column_step cells, row-major; the last blocks may hold fewer.
/// The strongest number stands for its block, so that no strong cell is lost among weak ones. A
/// block beside one with NaN or +∞ is NaN too: a broken number must be seen even where it would be
/// a fraction of a pixel.
std::vector<BlockCell> strongest_blocks(const HeatmapQuad&, std::int64_t row_step,
                                        std::int64_t column_step);

}  // namespace headlight
