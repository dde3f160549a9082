// The heatmap shader paints what color_at() says, and the renderer keeps what it should.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "tests/gl/test_gl_support.h"

namespace headlight::test_gl_heatmap {
namespace {

using test::difference;
using test::gl_ready;
using test::pixel;
using test::quad_of;
using test::random_cells;
using test::render;
using test::transposed;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kStep = 1.01f / 255;  // one step of an 8-bit channel

/// The largest difference between the middle of any cell and color_at() of its number.
float worst_cell(const Picture& picture, const HeatmapQuad& quad) {
  float worst = 0;
  for (std::int64_t r = 0; r < quad.rows; ++r) {
    for (std::int64_t c = 0; c < quad.columns; ++c) {
      const float x = quad.x0 + (static_cast<float>(c) + 0.5f) * (quad.x1 - quad.x0) /
                                    static_cast<float>(quad.columns);
      const float y = quad.y0 + (static_cast<float>(r) + 0.5f) * (quad.y1 - quad.y0) /
                                    static_cast<float>(quad.rows);
      const Color seen = pixel(picture, static_cast<int>(x), static_cast<int>(y));
      const Color wanted =
          color_at(quad.scale, quad.data[r * quad.row_stride + c * quad.column_stride]);
      worst = std::max(worst, difference(seen, wanted));
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("gl heatmap: every cell has the colour of its number") {
  if (!gl_ready()) return;
  HeatmapRenderer renderer;
  std::uint64_t key = 0;
  for (const auto& shape : {std::pair{1, 1}, {1, 7}, {7, 1}, {13, 5}, {64, 64}}) {
    const int rows = shape.first, columns = shape.second;
    const std::vector<float> cells =
        random_cells(static_cast<std::size_t>(rows * columns), static_cast<std::uint32_t>(rows));
    for (const ColorMap map : {ColorMap::kDiverging, ColorMap::kSequential}) {
      for (const float size : {3.0f, 7.3f}) {
        HeatmapQuad quad = quad_of(cells, rows, columns, size, ++key);
        quad.scale.map = map;
        quad.gap = size > 4 ? 1.0f : 0.0f;
        CAPTURE(rows);
        CAPTURE(columns);
        CAPTURE(size);
        CHECK(worst_cell(render(renderer, 480, 480, {quad}), quad) <= kStep);
        HeatmapQuad turned = transposed(quad);
        turned.key = ++key;
        CHECK(worst_cell(render(renderer, 480, 480, {turned}), turned) <= kStep);
      }
    }
  }
}

TEST_CASE(
    "gl heatmap: many at once look like one by one, from one texture, each number read once") {
  if (!gl_ready()) return;
  constexpr int kCount = 130;    // more than one draw takes
  for (const int n : {7, 40}) {  // cells of 4 pixels, blocks
    CAPTURE(n);
    const auto size = static_cast<std::size_t>(n * n);
    const std::vector<float> cells = random_cells(size * kCount, 11);
    std::vector<HeatmapQuad> quads;
    for (int i = 0; i < kCount; ++i) {
      HeatmapQuad quad = quad_of(cells, n, n, 28.0f / static_cast<float>(n),
                                 static_cast<std::uint64_t>(1000 * n + i));
      quad.data += static_cast<std::size_t>(i) * size;
      const float x = 3.0f + static_cast<float>(i % 13) * 30,
                  y = 2.0f + static_cast<float>(i / 13) * 40;
      quad.x0 += x;
      quad.x1 += x;
      quad.y0 += y;
      quad.y1 += y;
      if (i > 60) quad.scale.map = ColorMap::kSequential;  // other colours, the same texture
      quads.push_back(quad);
    }
    HeatmapRenderer one, many;
    const Picture alone = render(one, 400, 300, quads);  // the last rows are out of sight
    Framebuffer target(400, 300);
    const auto together = [&](int height) {
      target.clear({0, 0, 0, 0});
      many.begin_frame(400, 300);
      many.draw_all(quads, {0, 0, 400, height});
      many.end_frame();
      return target.read_rgba();
    };
    CHECK(together(300) == alone.rgba);
    CHECK(many.texture_count() == 1);
    CHECK(many.uploads() == one.uploads());
    CHECK(many.uploads() < kCount);
    const std::uint64_t before = many.uploads();
    together(300);
    CHECK(many.uploads() == before);  // nothing is read again
  }
}

TEST_CASE("gl heatmap: many at once are read over several frames where they are large") {
  if (!gl_ready()) return;
  const std::vector<float> cells = random_cells(100, 3);
  std::vector<HeatmapQuad> quads;
  for (int i = 0; i < 4; ++i) {
    quads.push_back(quad_of(cells, 10, 10, 2, static_cast<std::uint64_t>(i + 1)));
    quads.back().x0 += static_cast<float>(i) * 22;
    quads.back().x1 += static_cast<float>(i) * 22;
  }
  HeatmapCacheLimits limits;
  limits.cells_per_frame = 200;
  HeatmapRenderer renderer(limits);
  Framebuffer target(100, 40);
  for (const std::uint64_t read : {2u, 4u, 4u}) {
    renderer.begin_frame(100, 40);
    renderer.draw_all(quads, {0, 0, 100, 40});
    renderer.end_frame();
    CHECK(renderer.uploads() == read);
    CHECK(renderer.unfinished() == (read == 2 && renderer.uploads() == 2));
  }
}

TEST_CASE("gl heatmap: any strides, and matrices larger than a texture") {
  if (!gl_ready()) return;
  const std::vector<float> cells = random_cells(40 * 30, 5);
  HeatmapRenderer renderer;
  HeatmapCacheLimits small;
  small.texture_side = 8;
  HeatmapRenderer tiled(small);
  HeatmapQuad plain = quad_of(cells, 40, 30, 5, 1);
  HeatmapQuad sparse = quad_of(cells, 20, 10, 5, 2);  // every 2nd row, every 3rd column
  sparse.row_stride = 60;
  sparse.column_stride = 3;
  HeatmapQuad window = quad_of(cells, 20, 10, 5, 3);  // a part of the wider matrix
  window.row_stride = 30;
  window.data += 95;
  HeatmapQuad upside_down = quad_of(cells, 40, 30, 5, 4);
  upside_down.data += 39 * 30;
  upside_down.row_stride = -30;
  HeatmapQuad repeated = quad_of(cells, 10, 30, 5, 5);  // one row, ten times
  repeated.row_stride = 0;
  std::uint64_t key = 100;
  for (HeatmapQuad quad : {plain, sparse, window, upside_down, repeated}) {
    CAPTURE(quad.key);
    for (HeatmapQuad view : {quad, transposed(quad)}) {
      view.key = ++key;
      const Picture picture = render(renderer, 220, 220, {view});
      CHECK(worst_cell(picture, view) <= kStep);
      CHECK(render(tiled, 220, 220, {view}).rgba == picture.rgba);
    }
  }
}

TEST_CASE("gl heatmap: the texture plan copies on the processor only where it must") {
  HeatmapQuad quad;
  quad.rows = 300;
  quad.columns = 40;
  quad.row_stride = 64;  // 40 of 64 columns
  HeatmapLayout layout = plan_heatmap_texture(quad, 1024, 256);
  CHECK(layout.direct);
  CHECK_FALSE(layout.transposed);
  CHECK(layout.bytes() == 300 * 40 * 4);
  quad.row_stride = 1;
  quad.column_stride = 512;
  layout = plan_heatmap_texture(quad, 1024, 256);
  CHECK(layout.direct);
  CHECK(layout.transposed);
  CHECK(layout.width == 300);
  quad.row_stride = 2;
  CHECK_FALSE(plan_heatmap_texture(quad, 1024, 256).direct);

  quad.rows = 2500;
  quad.columns = 3;
  quad.row_stride = 3;
  quad.column_stride = 1;
  layout = plan_heatmap_texture(quad, 1024, 256);
  CHECK_FALSE(layout.reduced);
  CHECK(layout.layers() == 3);
  CHECK(layout.tile_height == 834);  // equal tiles
  layout = plan_heatmap_texture(quad, 1024, 2);
  CHECK(layout.reduced);
  CHECK(layout.row_step == 2);
  CHECK(layout.rows == 1250);
  quad.rows = quad.columns = 1'000'000;
  quad.row_stride = 1'000'000;
  layout = plan_heatmap_texture(quad, 16384, 2048);
  CHECK(layout.bytes() <= 4 * HeatmapLayout::kMaxCells);
}

TEST_CASE("gl heatmap: forbidden cells are hatched, broken ones checked") {
  if (!gl_ready()) return;
  HeatmapRenderer renderer;
  const std::vector<float> cells = {-kInfinity, -kInfinity, kNan, kInfinity, 0};
  for (const ColorMap map : {ColorMap::kDiverging, ColorMap::kSequential}) {
    HeatmapQuad quad = quad_of(cells, 1, 5, 20);
    quad.scale.map = map;
    const Picture picture = render(renderer, 100, 20, {quad});
    const ColorScale& scale = quad.scale;
    const auto count = [&](int cell, Color color) {
      int found = 0;
      for (int y = 0; y < 20; ++y) {
        for (int x = 20 * cell; x < 20 * cell + 20; ++x) {
          if (difference(pixel(picture, x, y), color) <= kStep) ++found;
        }
      }
      return found;
    };
    for (const int cell : {0, 1}) {  // one line each 5 pixels
      CHECK(count(cell, scale.hatch) == 80);
      CHECK(count(cell, scale.center) == 320);
    }
    for (int y = 0; y < 15; ++y) {  // lines run on over the border between the cells
      for (int x = 10; x < 30; ++x) {
        CHECK(pixel(picture, x, y) == pixel(picture, x - 1, y + 1));
      }
    }
    for (const int cell : {2, 3}) {
      CHECK(count(cell, scale.invalid) >= 190);
      CHECK(count(cell, Color{0, 0, 0, 1}) >= 190);
    }
    CHECK(count(4, scale.center) == 400);
  }
}

TEST_CASE("gl heatmap: equal keys keep the picture, new keys show new numbers") {
  if (!gl_ready()) return;
  HeatmapRenderer renderer;
  std::vector<float> cells = random_cells(16, 3);
  HeatmapQuad quad = quad_of(cells, 4, 4, 6, 77);
  const Picture before = render(renderer, 24, 24, {quad});
  for (float& cell : cells) cell = -cell;
  CHECK(render(renderer, 24, 24, {quad}).rgba == before.rgba);
  quad.data = nullptr;  // not needed while the texture is there
  CHECK(render(renderer, 24, 24, {quad}).rgba == before.rgba);
  CHECK(renderer.uploads() == 1);
  quad.data = cells.data();
  quad.key = 78;
  const Picture after = render(renderer, 24, 24, {quad});
  CHECK(renderer.uploads() == 2);
  CHECK(after.rgba != before.rgba);
  CHECK(worst_cell(after, quad) <= kStep);
  quad.key = 79;
  quad.data = nullptr;
  CHECK_THROWS_AS(render(renderer, 24, 24, {quad}), UsageError);
}

TEST_CASE("gl heatmap: one key with two shapes shows both") {
  if (!gl_ready()) return;
  HeatmapRenderer renderer;
  const std::vector<float> cells = random_cells(6, 3);
  const HeatmapQuad wide = quad_of(cells, 2, 3, 6, 5);
  const HeatmapQuad high = transposed(wide);
  CHECK(worst_cell(render(renderer, 24, 24, {wide}), wide) <= kStep);
  CHECK(worst_cell(render(renderer, 24, 24, {high}), high) <= kStep);
}

TEST_CASE("gl heatmap: one strong cell of a large matrix is seen in a small picture") {
  if (!gl_ready()) return;
  HeatmapRenderer renderer;
  std::uint64_t key = 0;
  for (const int n : {200, 1000, 1024, 2048}) {
    for (const int pixels : {48, 128, 150}) {
      const auto size = static_cast<std::size_t>(n);
      std::vector<float> cells(size * size, 0.001f);
      cells[size * 3 + 5] = 1.5f;
      cells[size * (size / 2) + size / 3] = -1.5f;
      cells[size * size - 1] = 1.5f;
      HeatmapQuad quad = quad_of(cells, n, n, 1, ++key);
      quad.x1 = quad.y1 = static_cast<float>(pixels);
      const Picture picture = render(renderer, pixels, pixels, {quad});
      CAPTURE(n);
      CAPTURE(pixels);
      const float scale = static_cast<float>(pixels) / static_cast<float>(n);
      const auto at = [&](std::size_t r, std::size_t c) {
        return pixel(picture, static_cast<int>((static_cast<float>(c) + 0.5f) * scale),
                     static_cast<int>((static_cast<float>(r) + 0.5f) * scale));
      };
      CHECK(difference(at(3, 5), quad.scale.high) <= kStep);
      CHECK(difference(at(size / 2, size / 3), quad.scale.low) <= kStep);
      CHECK(difference(at(size - 1, size - 1), quad.scale.high) <= kStep);
      int strong = 0;
      for (int y = 0; y < pixels; ++y) {
        for (int x = 0; x < pixels; ++x) {
          strong += difference(pixel(picture, x, y), quad.scale.center) > 0.1f;
        }
      }
      CHECK(strong <= 12);  // at most two pixels each way
    }
  }
}

TEST_CASE("gl heatmap: broken and forbidden numbers are seen at every size, on light and dark") {
  if (!gl_ready()) return;
  HeatmapRenderer renderer;
  std::uint64_t key = 0;
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    for (const float size : {0.05f, 0.2f, 0.6f, 0.9f, 1.0f, 1.5f, 2.0f, 4.0f, 9.0f, 30.0f}) {
      for (const bool dark : {false, true}) {
        const int n = static_cast<int>(240 / size);
        const auto count = static_cast<std::size_t>(n);
        std::vector<float> cells(count * count, 0.02f);
        // −∞ comes in numbers: a quarter of the matrix. One broken number must do.
        const int side = bad == -kInfinity ? n / 2 : 1;
        for (int r = 0; r < side; ++r) {
          for (int c = 0; c < side; ++c) {
            cells[static_cast<std::size_t>((n / 3 + r) * n + n / 3 + c)] = bad;
          }
        }
        HeatmapQuad quad = quad_of(cells, n, n, size, ++key);
        if (dark) {
          quad.scale.center = rgb(0x26282D);
          quad.scale.hatch = rgb(0x4A4E56);
        }
        const Picture picture = render(renderer, 240, 240, {quad});
        const Color wanted = bad == -kInfinity ? quad.scale.hatch : quad.scale.invalid;
        int marks = 0, black = 0;
        for (int y = 0; y < 240; ++y) {
          for (int x = 0; x < 240; ++x) {
            marks += difference(pixel(picture, x, y), wanted) < 0.02f;
            black += difference(pixel(picture, x, y), {0, 0, 0, 1}) < 0.02f;
          }
        }
        CAPTURE(bad);
        CAPTURE(size);
        CAPTURE(dark);
        CHECK(marks >= 1);
        if (size != 1.0f && bad != -kInfinity) CHECK(marks + black >= 3);
        if (bad != -kInfinity && size >= 2) CHECK(black >= 1);  // a pattern, not a colour
        if (bad == -kInfinity) CHECK(marks > 240 * 240 / 4 / 12);
      }
    }
  }
}

TEST_CASE("gl heatmap: numbers are read over several frames when there are many") {
  if (!gl_ready()) return;
  HeatmapCacheLimits limits;
  limits.cells_per_frame = 100 * 100;
  HeatmapRenderer renderer(limits);
  const std::vector<float> cells(100 * 100, 1.5f);
  std::vector<HeatmapQuad> quads;
  for (std::uint64_t key = 1; key <= 3; ++key) quads.push_back(quad_of(cells, 100, 100, 0.3f, key));
  for (std::uint64_t frame = 1; frame <= 3; ++frame) {
    render(renderer, 30, 30, quads);
    CHECK(renderer.uploads() == frame);
    CHECK(renderer.unfinished() == (frame < 3));
  }
  CHECK(renderer.texture_bytes() < 3 * 100 * 100 * sizeof(float));
}

TEST_CASE("gl heatmap: only inside the clip rectangle") {
  if (!gl_ready()) return;
  HeatmapRenderer renderer;
  const std::vector<float> cells(16, 1.5f);
  const HeatmapQuad quad = quad_of(cells, 4, 4, 10);
  const Framebuffer framebuffer(40, 40);
  framebuffer.clear({0, 0, 0, 0});
  renderer.begin_frame(40, 40);
  renderer.draw(quad, {5, 7, 21, 30});
  renderer.end_frame();
  const Picture picture = {40, 40, framebuffer.read_rgba()};
  for (int y = 0; y < 40; ++y) {
    for (int x = 0; x < 40; ++x) {
      const bool inside = x >= 5 && x < 21 && y >= 7 && y < 30;
      CHECK(pixel(picture, x, y).a == (inside ? 1.0f : 0.0f));
    }
  }
  renderer.begin_frame(40, 40);
  HeatmapQuad other = quad;
  other.key = 99;
  renderer.draw(other, {40, 0, 80, 40});   // outside the framebuffer
  renderer.draw(other, {10, 10, 10, 20});  // empty
  other.rows = 0;
  renderer.draw(other, {0, 0, 40, 40});
  renderer.end_frame();
  CHECK(renderer.uploads() == 1);
}

TEST_CASE("gl heatmap: gaps are free while cells are large enough") {
  if (!gl_ready()) return;
  HeatmapRenderer renderer;
  const std::vector<float> cells(16, 1.5f);
  for (const int gap : {1, 2, 3}) {
    HeatmapQuad quad = quad_of(cells, 4, 4, 12);
    quad.gap = static_cast<float>(gap);
    const Picture picture = render(renderer, 48, 48, {quad});
    const int before = gap / 2;
    for (int y = 0; y < 48; ++y) {
      for (int x = 0; x < 48; ++x) {
        const auto painted = [&](int at) {
          return at % 12 >= before && at % 12 < 12 - (gap - before);
        };
        CHECK(pixel(picture, x, y).a == (painted(x) && painted(y) ? 1.0f : 0.0f));
      }
    }
  }
  HeatmapQuad tiny = quad_of(cells, 4, 4, 2);
  tiny.gap = 1;
  const Picture picture = render(renderer, 8, 8, {tiny});
  for (int i = 0; i < 8; ++i) CHECK(pixel(picture, i, 7 - i).a == 1.0f);
}

TEST_CASE("gl heatmap: graphics memory stays bounded") {
  if (!gl_ready()) return;
  HeatmapCacheLimits limits;
  limits.bytes = 1 << 20;
  limits.frames = 3;
  HeatmapRenderer renderer(limits);
  const std::vector<float> cells = random_cells(64 * 64, 1);
  const Framebuffer framebuffer(64, 64);
  framebuffer.clear({0, 0, 0, 0});
  std::size_t most = 0;
  for (std::uint64_t key = 0; key < 1000; ++key) {
    if (key % 10 == 0) renderer.begin_frame(64, 64);
    renderer.draw(quad_of(cells, 64, 64, 1, key), {0, 0, 64, 64});
    most = std::max(most, renderer.texture_bytes());
    if (key % 10 == 9) renderer.end_frame();
  }
  CHECK(renderer.uploads() == 1000);
  CHECK(most <= limits.bytes);
  CHECK(renderer.texture_count() == 40);  // 4 frames of 10

  renderer.begin_frame(64, 64);  // one frame may need more than the bound
  for (std::uint64_t key = 5000; key < 5100; ++key) {
    renderer.draw(quad_of(cells, 64, 64, 1, key), {0, 0, 64, 64});
  }
  renderer.end_frame();
  CHECK(renderer.texture_count() == 100);
  for (int i = 0; i < 4; ++i) {
    renderer.begin_frame(64, 64);
    renderer.end_frame();
  }
  CHECK(renderer.texture_count() == 0);
  CHECK(renderer.texture_bytes() == 0);
}

}  // namespace headlight::test_gl_heatmap
