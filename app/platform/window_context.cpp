#include "app/platform/window_context.h"

#include <epoxy/gl.h>
// GLFW after epoxy, which brings the OpenGL declarations.
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

#include "core/base/error.h"

namespace headlight {
namespace {

class WindowComputeContext final : public ComputeContext {
 public:
  explicit WindowComputeContext(GLFWwindow* hidden) : hidden_(hidden) {}
  ~WindowComputeContext() override { glfwDestroyWindow(hidden_); }
  void make_current() override { glfwMakeContextCurrent(hidden_); }
  void release() override { glfwMakeContextCurrent(nullptr); }
  bool shares_with_window() const override { return true; }

 private:
  GLFWwindow* hidden_;
};

}  // namespace

std::unique_ptr<ComputeContext> make_window_compute_context(GLFWwindow* window) {
  glfwDefaultWindowHints();
  glfwWindowHint(GLFW_VISIBLE, GLFW_FALSE);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 4);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
  GLFWwindow* hidden = glfwCreateWindow(16, 16, "Headlight", nullptr, window);
  if (hidden) return std::make_unique<WindowComputeContext>(hidden);
  const char* why = nullptr;
  glfwGetError(&why);
  throw Error(Message{"compute.no_context", {{"problem", why ? why : "?"}}});
}

}  // namespace headlight
