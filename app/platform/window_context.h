// A second OpenGL context beside the window's, for the thread that computes: the window can draw
// from what it makes.
#pragma once

#include <memory>

#include "app/gl/context/compute_context.h"

struct GLFWwindow;

namespace headlight {

/// Makes an invisible window, so it must be called, and the result destroyed, on the main thread,
/// before `window` is. Throws Error where the driver has no OpenGL 4.3 for it.
std::unique_ptr<ComputeContext> make_window_compute_context(GLFWwindow* window);

}  // namespace headlight
