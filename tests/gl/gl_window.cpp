// The context of the OpenGL tests in a window, which is never shown: the same tests as without one.
#include <epoxy/gl.h>

// GLFW after epoxy, which brings the OpenGL declarations.
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

#include "app/gl/context/device.h"
#include "tests/gl/test_gl_support.h"

namespace headlight {
namespace {

std::string g_glfw_error;

GLFWwindow* make_window() {
  glfwSetErrorCallback([](int, const char* text) { g_glfw_error = text; });
  GLFWwindow* window = nullptr;
  if (glfwInit()) {
    glfwWindowHint(GLFW_VISIBLE, GLFW_FALSE);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 4);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    glfwWindowHint(GLFW_OPENGL_DEBUG_CONTEXT, GLFW_TRUE);
    window = glfwCreateWindow(64, 64, "test", nullptr, nullptr);
  }
  if (!window) throw Error("no window with OpenGL 4.3: " + g_glfw_error);
  return window;
}

}  // namespace

// Never destroyed, like the one without a window.
void test::take_gl_context() {
  static GLFWwindow* const window = make_window();
  glfwMakeContextCurrent(window);
}

TEST_CASE("gl window: the tests of this program run in a window's context") {
  if (!test::gl_ready()) return;
  CHECK(glfwGetCurrentContext() != nullptr);
  CHECK(GlDevice::ask(real_gl()).limits.version >= 43);
  CHECK(glGetError() == GL_NO_ERROR);
}

}  // namespace headlight
