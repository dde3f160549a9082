// What differs between versions of Dear ImGui's backends of GLFW and OpenGL, 1.86 to 1.92.
#pragma once

// GLFW after epoxy, which brings the OpenGL declarations.
#include <epoxy/gl.h>
#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>
#include <imgui.h>
#include <imgui_impl_glfw.h>
#include <imgui_impl_opengl3.h>
//
#include <imgui_internal.h>

namespace headlight {

/// Before the first frame, and before each is drawn: the textures of fonts are the program's own.
inline void keep_textures([[maybe_unused]] ImGuiIO& io) {
#if IMGUI_VERSION_NUM >= 19200
  io.BackendFlags &= ~ImGuiBackendFlags_RendererHasTextures;
#else
  ImGui_ImplOpenGL3_DestroyFontsTexture();  // made with the shaders
#endif
}
inline void keep_textures([[maybe_unused]] ImDrawData& data) {
#if IMGUI_VERSION_NUM >= 19200
  data.Textures = nullptr;
#endif
}

/// Up to 1.86 the backend asks for it itself.
inline void tell_mouse_position([[maybe_unused]] GLFWwindow* window, [[maybe_unused]] double x,
                                [[maybe_unused]] double y) {
#if IMGUI_VERSION_NUM >= 18700
  ImGui_ImplGlfw_CursorPosCallback(window, x, y);
#endif
}

/// From 1.87 on ImGui lays up what it is told, and takes some of it in each frame: is some left?
inline bool has_input_left() {
#if IMGUI_VERSION_NUM >= 18700
  return ImGui::GetCurrentContext()->InputEventsQueue.Size > 0;
#else
  return false;
#endif
}

/// A key, which may have come some frames ago.
inline void tell_key(GLFWwindow* window, int key, int scancode, int action, int mods) {
#if IMGUI_VERSION_NUM >= 18900
  // The backend asks which modifiers are held now; what counts is which were when the key came.
  // That a modifier itself came, X11 does not count.
  const auto tell = [&](ImGuiKey modifier, int bit, int left, int right) {
    const bool itself = key == left || key == right;
    const bool down = itself ? action != GLFW_RELEASE : (mods & bit) != 0;
    ImGui::GetIO().AddKeyEvent(modifier, down);
  };
  tell(ImGuiMod_Ctrl, GLFW_MOD_CONTROL, GLFW_KEY_LEFT_CONTROL, GLFW_KEY_RIGHT_CONTROL);
  tell(ImGuiMod_Shift, GLFW_MOD_SHIFT, GLFW_KEY_LEFT_SHIFT, GLFW_KEY_RIGHT_SHIFT);
  tell(ImGuiMod_Alt, GLFW_MOD_ALT, GLFW_KEY_LEFT_ALT, GLFW_KEY_RIGHT_ALT);
  tell(ImGuiMod_Super, GLFW_MOD_SUPER, GLFW_KEY_LEFT_SUPER, GLFW_KEY_RIGHT_SUPER);
  ImVector<ImGuiInputEvent>& events = ImGui::GetCurrentContext()->InputEventsQueue;
  const int before = events.Size;
#endif
  ImGui_ImplGlfw_KeyCallback(window, key, scancode, action, mods);
#if IMGUI_VERSION_NUM >= 18900
  for (int i = events.Size - 1; i >= before; --i) {
    const bool is_key = events[i].Type == ImGuiInputEventType_Key;
    if (is_key && (events[i].Key.Key & ImGuiMod_Mask_) != 0) events.erase(&events[i]);
  }
#endif
}

}  // namespace headlight
