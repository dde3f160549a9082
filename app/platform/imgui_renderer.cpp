#include "app/platform/imgui_renderer.h"

#include <dlfcn.h>
#include <imgui_impl_opengl3.h>

#include "core/base/error.h"

namespace headlight {

void start_imgui_renderer() {
  // Dear ImGui 1.92 closes the library of OpenGL's functions with the first renderer that ends, and
  // calls them by the same addresses in the next one: the library has to stay.
  if (void* library = dlopen("libOpenGL.so.0", RTLD_LAZY | RTLD_NODELETE)) dlclose(library);
  if (!ImGui_ImplOpenGL3_Init("#version 330"))
    throw Error("the window's OpenGL renderer did not start");
}

void end_imgui_renderer() { ImGui_ImplOpenGL3_Shutdown(); }

}  // namespace headlight
