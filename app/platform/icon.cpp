#include "app/platform/icon.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace headlight {
namespace {

// A rectangle with round corners, in units of 1/256 of the icon.
struct Shape {
  float x = 0, y = 0, width = 0, height = 0, radius = 0;
  std::uint32_t color = 0;  // 0xRRGGBB
  float alpha = 1;
};

// A causal pattern on a dark ground: each token looks at itself and those before it. One row and
// one column are lit and cross in the brightest cell, as they do in the window.
std::vector<Shape> shapes() {
  constexpr int kTokens = 4;
  constexpr float kFirst = 40, kCell = 38, kStep = 46;
  constexpr int kLitRow = 2, kLitColumn = 1;
  std::vector<Shape> list = {{8, 8, 240, 240, 52, 0x1F2328, 1}};
  const auto place = [&](int i) { return kFirst + kStep * static_cast<float>(i); };
  const float whole = kStep * (kTokens - 1) + kCell;
  const float margin = 5;
  list.push_back({kFirst - margin, place(kLitRow) - margin, whole + 2 * margin, kCell + 2 * margin,
                  12, 0xFFFFFF, 0.10f});
  list.push_back({place(kLitColumn) - margin, kFirst - margin, kCell + 2 * margin,
                  whole + 2 * margin, 12, 0xFFFFFF, 0.10f});
  for (int row = 0; row < kTokens; ++row) {
    for (int column = 0; column < kTokens; ++column) {
      const bool allowed = column <= row, lit = row == kLitRow && column == kLitColumn;
      const float strength = 1.0f - 0.26f * static_cast<float>((row + 2 * column) % 4);
      const Shape cell{place(column),
                       place(row),
                       kCell,
                       kCell,
                       8,
                       lit       ? 0xF0A24Bu
                       : allowed ? 0xC99BE0u
                                 : 0x4A4E57u,
                       lit       ? 1.0f
                       : allowed ? std::max(0.35f, strength)
                                 : 0.55f};
      list.push_back(cell);
    }
  }
  return list;
}

// How much of the shape lies at this point: 1 inside, 0 outside, a slope at the edge.
float coverage(const Shape& s, float x, float y, float pixel) {
  const float cx = s.x + s.width / 2, cy = s.y + s.height / 2;
  const float dx = std::fabs(x - cx) - (s.width / 2 - s.radius);
  const float dy = std::fabs(y - cy) - (s.height / 2 - s.radius);
  const float outside = std::hypot(std::max(dx, 0.0f), std::max(dy, 0.0f));
  const float distance = outside + std::min(std::max(dx, dy), 0.0f) - s.radius;
  return std::clamp(0.5f - distance / pixel, 0.0f, 1.0f);
}

}  // namespace

std::vector<std::uint8_t> icon_pixels(int side) {
  const std::vector<Shape> list = shapes();
  const float unit = 256.0f / static_cast<float>(side);
  std::vector<std::uint8_t> pixels;
  pixels.reserve(static_cast<std::size_t>(side) * static_cast<std::size_t>(side) * 4);
  for (int row = 0; row < side; ++row) {
    for (int column = 0; column < side; ++column) {
      const float x = (static_cast<float>(column) + 0.5f) * unit;
      const float y = (static_cast<float>(row) + 0.5f) * unit;
      float rgb[3] = {0, 0, 0}, alpha = 0;
      for (const Shape& s : list) {
        const float a = s.alpha * coverage(s, x, y, unit);
        const float sum = a + alpha * (1 - a);
        for (int c = 0; c < 3 && sum > 0; ++c) {
          const auto value = static_cast<float>(s.color >> (16 - 8 * c) & 255u);
          rgb[c] = (value * a + rgb[c] * alpha * (1 - a)) / sum;
        }
        alpha = sum;
      }
      for (const float value : rgb) pixels.push_back(static_cast<std::uint8_t>(value + 0.5f));
      pixels.push_back(static_cast<std::uint8_t>(alpha * 255 + 0.5f));
    }
  }
  return pixels;
}

std::string icon_svg() {
  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"256\" height=\"256\" viewBox=\"0 0 256 "
      "256\">\n";
  for (const Shape& s : shapes()) {
    char line[200];
    std::snprintf(line, sizeof line,
                  "  <rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" rx=\"%g\" fill=\"#%06X\" "
                  "fill-opacity=\"%g\"/>\n",
                  static_cast<double>(s.x), static_cast<double>(s.y), static_cast<double>(s.width),
                  static_cast<double>(s.height), static_cast<double>(s.radius), s.color,
                  static_cast<double>(std::round(s.alpha * 100) / 100));
    svg += line;
  }
  return svg + "</svg>\n";
}

}  // namespace headlight
