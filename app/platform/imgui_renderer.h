// What draws Dear ImGui's lists with OpenGL.
#pragma once

namespace headlight {

/// With the context of OpenGL and that of ImGui current. Throws Error where it does not start.
void start_imgui_renderer();
/// Once for each that started.
void end_imgui_renderer();

}  // namespace headlight
