// Contexts, framebuffers and shaders: they work, and say in words when they do not.
#include <doctest/doctest.h>
#include <epoxy/gl.h>

#include <cstdlib>
#include <string>

#include "app/gl/context/egl_context.h"
#include "app/gl/context/shader.h"
#include "tests/gl/test_gl_support.h"
#include "tests/support/error_text.h"

namespace headlight::test_gl_context {
namespace {

using test::gl_ready;

constexpr const char* kVertex = "#version 330 core\nvoid main() { gl_Position = vec4(0.0); }\n";

std::string shader_error(std::string_view vertex, std::string_view fragment) {
  return error_of([&] {
    ShaderProgram({{GL_VERTEX_SHADER, "shaders/a.vert", vertex},
                   {GL_FRAGMENT_SHADER, "shaders/b.frag", fragment}});
  });
}

}  // namespace

TEST_CASE("gl context: says what it is, and a second one leaves the first alive") {
  if (!gl_ready()) return;
  CHECK_NOTHROW(require_gl33());
  CHECK(has(gl_description(), ", OpenGL "));
  const Framebuffer framebuffer(4, 4);
  {
    const EglContext second;
    CHECK_FALSE(second.platform().empty());
    CHECK_NOTHROW(require_gl33());
  }
  REQUIRE(gl_ready());  // current again
  framebuffer.clear({0, 1, 0, 1});
  CHECK(framebuffer.read_rgba()[1] == 255);
  CHECK(glGetError() == GL_NO_ERROR);
}

TEST_CASE("gl context: the driver is the one that was asked for") {
  const char* expected = std::getenv("HEADLIGHT_EXPECT_RENDERER");
  if (!expected || !gl_ready()) return;
  INFO(gl_description());
  CHECK(has(gl_description(), expected));
}

TEST_CASE("gl framebuffer: rows from the top, sizes checked") {
  if (!gl_ready()) return;
  const Framebuffer framebuffer(3, 2);
  framebuffer.clear({1, 0, 0, 1});
  glEnable(GL_SCISSOR_TEST);
  glScissor(0, 1, 3, 1);  // the upper row
  glClearColor(0, 0, 1, 0.2f);
  glClear(GL_COLOR_BUFFER_BIT);
  glDisable(GL_SCISSOR_TEST);
  const std::vector<std::uint8_t> pixels = framebuffer.read_rgba();
  REQUIRE(pixels.size() == 24);
  CHECK(pixels[2] == 255);
  CHECK(pixels[3] == 51);
  CHECK(pixels[12] == 255);
  CHECK_THROWS_AS(Framebuffer(0, 5), UsageError);
  CHECK_THROWS_WITH_AS(Framebuffer(1'000'000, 5), doctest::Contains("choose a smaller size"),
                       UsageError);
}

TEST_CASE("gl shader: errors name the file and the line") {
  if (!gl_ready()) return;
  const std::string good = "#version 330 core\nout vec4 c;\nvoid main() { c = vec4(1.0); }\n";
  CHECK(shader_error(kVertex, good).empty());
  const std::string broken = "#version 330 core\nout vec4 c;\n\nvoid main() { c = sunshine; }\n";
  const std::string error = shader_error(kVertex, broken);
  INFO(error);
  CHECK(has(error, "shaders/b.frag, line 4: "));
  CHECK(has(error, "sunshine"));

  const std::string writes_two =
      "#version 330 core\nout vec2 v;\nvoid main() { v = vec2(0.0); gl_Position = vec4(v, v); }\n";
  const std::string reads_three =
      "#version 330 core\nin vec3 v;\nout vec4 c;\nvoid main() { c = v.xyzz; }\n";
  const std::string link_error = shader_error(writes_two, reads_three);
  INFO(link_error);
  CHECK(has(link_error, "shaders/a.vert and shaders/b.frag"));
  CHECK_THROWS_WITH_AS(embedded_stage("shaders/none.frag"), doctest::Contains("shaders/none.frag"),
                       Error);
}

TEST_CASE("gl heatmap: leaves alone what it promises to leave alone") {
  if (!gl_ready()) return;
  HeatmapRenderer renderer;
  const Framebuffer framebuffer(16, 16);
  framebuffer.clear({0, 0, 0, 0});
  GLuint texture = 0;
  glGenTextures(1, &texture);
  glActiveTexture(GL_TEXTURE0);
  glBindTexture(GL_TEXTURE_2D, texture);
  const std::vector<float> cells(4, 1.0f);
  HeatmapQuad quad;
  quad.x1 = quad.y1 = 16;
  quad.data = cells.data();
  quad.rows = quad.columns = quad.row_stride = 2;
  renderer.begin_frame(16, 16);
  renderer.draw(quad, {0, 0, 16, 16});
  renderer.end_frame();
  const auto integer = [](GLenum name) {
    GLint value = -1;
    glGetIntegerv(name, &value);
    return value;
  };
  CHECK(integer(GL_TEXTURE_BINDING_2D) == static_cast<GLint>(texture));
  CHECK(integer(GL_TEXTURE_BINDING_2D_ARRAY) == 0);
  CHECK(integer(GL_ACTIVE_TEXTURE) == GL_TEXTURE0);
  CHECK(integer(GL_UNPACK_ROW_LENGTH) == 0);
  CHECK(integer(GL_UNPACK_ALIGNMENT) == 4);
  CHECK(integer(GL_PIXEL_UNPACK_BUFFER_BINDING) == 0);
  CHECK(integer(GL_DRAW_FRAMEBUFFER_BINDING) != 0);
  CHECK(glGetError() == GL_NO_ERROR);
  glDeleteTextures(1, &texture);
}

}  // namespace headlight::test_gl_context
