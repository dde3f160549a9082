// Heatmaps drawn from buffers of the graphics card are, pixel for pixel, those drawn from memory.
#include <doctest/doctest.h>
#include <epoxy/gl.h>

#include <limits>
#include <vector>

#include "core/view/device_cells.h"
#include "tests/gl/test_gl_support.h"

namespace headlight::test_gl_heatmap_device {
namespace {

using test::gl_ready;
using test::quad_of;
using test::random_cells;
using test::transposed;

// A buffer with numbers, and nothing of them in memory that the renderer could read.
class Buffer {
 public:
  explicit Buffer(const std::vector<float>& cells) {
    glGenBuffers(1, &id_);
    glBindBuffer(GL_SHADER_STORAGE_BUFFER, id_);
    glBufferData(GL_SHADER_STORAGE_BUFFER, static_cast<GLsizeiptr>(cells.size() * sizeof(float)),
                 cells.data(), GL_DYNAMIC_COPY);
  }
  ~Buffer() { glDeleteBuffers(1, &id_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  unsigned id() const { return id_; }

 private:
  GLuint id_ = 0;
};

Picture drawn(HeatmapRenderer& renderer, int side, const HeatmapQuad& quad,
              const HeatmapSource& source) {
  Framebuffer target(side, side);
  target.clear({0, 0, 0, 1});
  renderer.begin_frame(side, side);
  renderer.draw(quad, {0, 0, side, side}, source);
  renderer.end_frame();
  return {side, side, target.read_rgba()};
}

}  // namespace

TEST_CASE("gl heatmap device: pictures from a buffer are those from memory") {
  if (!gl_ready()) return;
  std::vector<float> cells = random_cells(90 * 70, 11);
  for (std::size_t i = 0; i < cells.size(); i += 7)
    cells[i] = -std::numeric_limits<float>::infinity();  // forbidden cells
  const Buffer buffer(cells);
  HeatmapCacheLimits small;
  small.texture_side = 16;  // several tiles
  HeatmapRenderer memory, device, tiled(small);
  HeatmapQuad plain = quad_of(cells, 90, 70, 5, 1);
  HeatmapQuad part = quad_of(cells, 20, 10, 5, 2);  // of the wider matrix, from its middle
  part.row_stride = 70;
  part.data += 95;
  HeatmapQuad sparse = quad_of(cells, 20, 10, 5, 3);  // not as OpenGL reads lines
  sparse.row_stride = 140;
  sparse.column_stride = 3;
  HeatmapQuad upside_down = quad_of(cells, 40, 30, 5, 4);
  upside_down.data += 39 * 70;
  upside_down.row_stride = -70;
  HeatmapQuad dense = quad_of(cells, 90, 70, 0.4f, 5);  // several cells to a pixel
  HeatmapQuad uneven = quad_of(cells, 89, 67, 0.3f, 6);
  uneven.row_stride = 70;
  std::uint64_t key = 100;
  for (const HeatmapQuad& quad : {plain, part, sparse, upside_down, dense, uneven}) {
    for (HeatmapQuad view : {quad, transposed(quad)}) {
      CAPTURE(quad.key);
      view.key = ++key;
      const HeatmapSource source{buffer.id(), view.data - cells.data(),
                                 static_cast<std::int64_t>(cells.size())};
      const Picture expected = drawn(memory, 460, view, {});
      HeatmapQuad nothing = view;
      nothing.data = nullptr;
      CHECK(drawn(device, 460, nothing, source).rgba == expected.rgba);
      CHECK(drawn(tiled, 460, nothing, source).rgba == expected.rgba);
    }
  }
  CHECK(device.device_uploads() == device.uploads());
  CHECK(memory.device_uploads() == 0);
}

TEST_CASE("gl heatmap device: a buffer's picture is kept by its key, whatever is written later") {
  if (!gl_ready()) return;
  std::vector<float> cells = random_cells(12 * 12, 3);
  const Buffer buffer(cells);
  HeatmapRenderer renderer;
  const HeatmapQuad quad = quad_of(cells, 12, 12, 10, 1);
  const HeatmapSource source{buffer.id(), 0, 144};
  const Picture first = drawn(renderer, 130, quad, source);
  const std::vector<float> zeros(144);
  glBindBuffer(GL_SHADER_STORAGE_BUFFER, buffer.id());
  glBufferSubData(GL_SHADER_STORAGE_BUFFER, 0, 144 * sizeof(float), zeros.data());
  CHECK(drawn(renderer, 130, quad, source).rgba == first.rgba);
  HeatmapQuad other = quad;
  other.key = 2;
  CHECK(drawn(renderer, 130, other, source).rgba != first.rgba);
}

TEST_CASE("gl heatmap device: a number is found in the stretch of memory that it lies in") {
  std::vector<float> a(10), b(5);
  DeviceCells cells;
  cells.add({b.data(), 5, 2});
  cells.add({a.data(), 10, 1});
  cells.sort();
  CHECK(cells.find(a.data())->buffer == 1);
  CHECK(cells.find(a.data() + 9)->buffer == 1);
  CHECK(cells.find(b.data() + 4)->buffer == 2);
  CHECK(cells.find(nullptr) == nullptr);
  std::vector<float> far(4);
  CHECK(cells.find(far.data()) == nullptr);
}

}  // namespace headlight::test_gl_heatmap_device
