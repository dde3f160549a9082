// Heatmaps without a window: which colour a number has, and what a renderer needs to draw a matrix.
// The legend, the numbers written in cells and the GPU's fragment shader all follow color_at().
#pragma once

#include <cstdint>
#include <span>

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
};

/// The colour of a number. −∞ gives `center` (the hatching is drawn over it), NaN and +∞ `invalid`.
Color color_at(const ColorScale&, float value);

/// The range that colours a picture: the largest finite magnitude, unless it stands over 4 times as
/// far out as the rest; then the rest counts (of few cells the second largest, of many the
/// magnitude that one cell in a thousand exceeds). 1 when nothing is finite or all is zero.
float robust_limit(std::span<const float> cells);

/// One matrix to be drawn: cell (r, c) is data[r·row_stride + c·column_stride].
struct HeatmapQuad {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;  // where, in framebuffer pixels, y down
  const float* data = nullptr;           // must stay alive until the frame is drawn
  std::int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 1;
  std::uint64_t key = 0;  // equal keys promise equal numbers: the texture is kept
  float unit = 1;         // pixels of one design pixel: how wide hatching and checks are
  float gap = 0;          // pixels left free between cells when there is room
  ColorScale scale;
};

}  // namespace headlight
