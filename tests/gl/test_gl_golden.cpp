// Whole heatmaps against pictures that someone looked at (tests/golden). After a wanted change run
// with HEADLIGHT_UPDATE_GOLDEN=1 and look at them again.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/gl/test_gl_support.h"

namespace headlight::test_gl_golden {
namespace {

using test::gl_ready;
using test::quad_of;
using test::render;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("gl heatmap: golden pictures") {
  if (!gl_ready()) return;
  HeatmapRenderer renderer;
  const Color paper = rgb(0xffffff);
  std::vector<float> pattern(12 * 12);
  for (int r = 0; r < 12; ++r) {
    for (int c = 0; c < 12; ++c) {
      const float weight = 1.5f * std::exp(-0.25f * static_cast<float>((r - c) * (r - c) % 17));
      pattern[static_cast<std::size_t>(r * 12 + c)] = c > r ? -kInfinity : weight;
    }
  }
  HeatmapQuad attention = quad_of(pattern, 12, 12, 20, 1);
  attention.scale.map = ColorMap::kSequential;
  attention.gap = 1;
  CHECK(test::golden_problem("heatmap_attention", render(renderer, 240, 240, {attention}, paper)) ==
        "");

  std::vector<float> cells(16 * 24);
  for (int r = 0; r < 16; ++r) {
    for (int c = 0; c < 24; ++c) {
      cells[static_cast<std::size_t>(r * 24 + c)] =
          2 * std::sin(0.4f * static_cast<float>(r)) * std::cos(0.3f * static_cast<float>(c));
    }
  }
  cells[5 * 24 + 7] = kNan;
  cells[9 * 24 + 15] = kInfinity;
  HeatmapQuad values = quad_of(cells, 16, 24, 14, 2);
  values.gap = 1;
  CHECK(test::golden_problem("heatmap_signed", render(renderer, 336, 224, {values}, paper)) == "");

  std::vector<float> large(512 * 512);
  for (int r = 0; r < 512; ++r) {
    for (int c = 0; c < 512; ++c) {
      const bool line = r == c || r == c + 1 || c % 64 == 0 || r == c + 200;
      large[static_cast<std::size_t>(r * 512 + c)] = c > r ? -kInfinity : line ? 1.5f : 0.02f;
    }
  }
  HeatmapQuad minified = quad_of(large, 512, 512, 1, 3);
  minified.x1 = minified.y1 = 150;
  minified.scale.map = ColorMap::kSequential;
  CHECK(test::golden_problem("heatmap_minified", render(renderer, 150, 150, {minified}, paper)) ==
        "");
}

}  // namespace headlight::test_gl_golden
