// What the OpenGL tests share: one context, and pictures to look into.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "app/gl/context/debug.h"
#include "app/gl/context/framebuffer.h"
#include "app/gl/heatmap/heatmap_renderer.h"
#include "core/base/error.h"
#include "core/io/png.h"
#include "core/view/heatmap.h"
#include "test_paths.h"
#include "tests/support/read_png.h"

namespace headlight::test {

/// Makes a debug context current that lives as long as the program: one without a window
/// (gl_surfaceless.cpp) or that of a hidden one (gl_window.cpp), whichever the program is linked
/// with. Throws Error where there is none.
void take_gl_context();

/// True with a current context; else prints why the calling test is skipped. With
/// HEADLIGHT_REQUIRE_GL=1 in the environment, no context is a failure.
inline bool gl_ready() {
  static std::string why;
  if (why.empty()) {
    try {
      take_gl_context();
      return true;
    } catch (const Error& error) {
      why = error.what();
    }
  }
  std::cout << "SKIPPED: no OpenGL context. " << why << std::endl;
  const char* required = std::getenv("HEADLIGHT_REQUIRE_GL");
  if (required && std::string(required) != "0") FAIL_CHECK("OpenGL is required here: ", why);
  return false;
}

/// What the driver has said about our calls since the last clear(). Needs gl_ready().
inline GlDebugLog& debug_log() {
  static GlDebugLog* const log = new GlDebugLog;
  return *log;
}

inline Color pixel(const Picture& picture, int x, int y) {
  const std::size_t at =
      4 * (static_cast<std::size_t>(y) * static_cast<std::size_t>(picture.width) +
           static_cast<std::size_t>(x));
  const auto channel = [&](std::size_t i) {
    return static_cast<float>(picture.rgba[at + i]) / 255.0f;
  };
  return {channel(0), channel(1), channel(2), channel(3)};
}

/// The largest difference of a channel, 0..1.
inline float difference(Color a, Color b) {
  return std::max(
      {std::fabs(a.r - b.r), std::fabs(a.g - b.g), std::fabs(a.b - b.b), std::fabs(a.a - b.a)});
}

/// Calm colours, full at 1.5.
inline ColorScale test_scale(ColorMap map) {
  ColorScale scale;
  scale.map = map;
  scale.limit = 1.5f;
  scale.low = rgb(0xb3541e);
  scale.center = rgb(0xf3f1ec);
  scale.high = rgb(0x1f4e79);
  scale.hatch = rgb(0xcdc8bd);
  scale.invalid = rgb(0xff2fc8);
  return scale;
}

/// Numbers from -2 to 2, the same for the same seed.
inline std::vector<float> random_cells(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> cells(count);
  for (float& cell : cells) cell = static_cast<float>(random() % 4001) / 1000.0f - 2.0f;
  return cells;
}

/// A row-major matrix with its corner at (0, 0), `cell_size` pixels a cell.
inline HeatmapQuad quad_of(const std::vector<float>& cells, std::int64_t rows, std::int64_t columns,
                           float cell_size, std::uint64_t key = 1) {
  HeatmapQuad quad;
  quad.x1 = static_cast<float>(columns) * cell_size;
  quad.y1 = static_cast<float>(rows) * cell_size;
  quad.data = cells.data();
  quad.rows = rows;
  quad.columns = columns;
  quad.row_stride = columns;
  quad.key = key;
  quad.scale = test_scale(ColorMap::kDiverging);
  return quad;
}

/// The same quad after a transposition of its strides: the picture of the transposed matrix.
inline HeatmapQuad transposed(HeatmapQuad quad) {
  std::swap(quad.rows, quad.columns);
  std::swap(quad.row_stride, quad.column_stride);
  std::swap(quad.x1, quad.y1);
  return quad;
}

/// One frame of quads on a plain background.
inline Picture render(HeatmapRenderer& renderer, int width, int height,
                      const std::vector<HeatmapQuad>& quads, Color background = {0, 0, 0, 0}) {
  const Framebuffer framebuffer(width, height);
  framebuffer.clear(background);
  renderer.begin_frame(width, height);
  for (const HeatmapQuad& quad : quads) renderer.draw(quad, {0, 0, width, height});
  renderer.end_frame();
  return {width, height, framebuffer.read_rgba()};
}

/// What is wrong beside tests/golden/<name>.png, of which no channel of 99.8 % of the pixels may
/// differ by more than 3/255; empty when nothing is. HEADLIGHT_UPDATE_GOLDEN=1 in the environment
/// writes the file instead.
inline std::string golden_problem(const std::string& name, const Picture& picture) {
  const std::string path = std::string(HEADLIGHT_TEST_DIR) + "/golden/" + name + ".png";
  const char* update = std::getenv("HEADLIGHT_UPDATE_GOLDEN");
  if (update && std::string(update) == "1") {
    std::ofstream(path, std::ios::binary)
        << encode_png(picture.width, picture.height, picture.rgba);
    std::cout << "wrote " << path << std::endl;
    return {};
  }
  std::ifstream file(path, std::ios::binary);
  if (!file.good()) return path + " is missing; make it with HEADLIGHT_UPDATE_GOLDEN=1";
  const Picture golden = decode_png(std::string(std::istreambuf_iterator<char>(file), {}));
  if (golden.width != picture.width || golden.height != picture.height)
    return path + " has another size";
  std::size_t different = 0;
  for (int y = 0; y < golden.height; ++y) {
    for (int x = 0; x < golden.width; ++x) {
      if (difference(pixel(golden, x, y), pixel(picture, x, y)) > 3.1f / 255) ++different;
    }
  }
  const bool is_like = different * 500 <= golden.rgba.size() / 4;
  return is_like ? std::string() : path + ": " + std::to_string(different) + " pixels differ";
}

}  // namespace headlight::test
