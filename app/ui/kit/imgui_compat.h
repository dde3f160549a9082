// What differs between versions of Dear ImGui, 1.86 (Debian 12) to 1.92; of fonts in font_compat.h,
// of its backends in platform/backend_compat.h.
#pragma once

#include <imgui.h>
//
#include <imgui_internal.h>
#include <imgui_stdlib.h>

#include <cstdint>

#include "app/ui/kit/font_compat.h"

namespace headlight {

#if IMGUI_VERSION_NUM >= 19000
inline constexpr int kChildBorder = ImGuiChildFlags_None;
inline bool begin_child(const char* id, ImVec2 size, int window_flags) {
  return ImGui::BeginChild(id, size, ImGuiChildFlags_None, window_flags);
}
#else
inline bool begin_child(const char* id, ImVec2 size, int window_flags) {
  return ImGui::BeginChild(id, size, false, window_flags);
}
#endif

/// Was the key pressed in this frame, or repeated while it is held?
inline bool key_pressed(ImGuiKey key) {
#if IMGUI_VERSION_NUM >= 18700
  return ImGui::IsKeyPressed(key);
#else
  return ImGui::IsKeyPressed(ImGui::GetKeyIndex(key));
#endif
}

/// Takes the keyboard from whatever field has it, and closes menus and sheets.
inline void leave_everything() {
  ImGui::ClearActiveID();
  if (ImGui::GetCurrentContext()->OpenPopupStack.Size > 0) ImGui::ClosePopupToLevel(0, true);
}

/// By how much a field's text is moved to the left.
template <class InputState>
float scrolled(const InputState& field) {
  if constexpr (requires { field.Scroll; }) {
    return field.Scroll.x;
  } else {
    return field.ScrollX;
  }
}

/// Mouse input for tests; in 1.86 the arrays are written directly.
inline void feed_mouse_position(ImGuiIO& io, float x, float y) {
#if IMGUI_VERSION_NUM >= 18700
  io.AddMousePosEvent(x, y);
#else
  io.MousePos = ImVec2(x, y);
#endif
}
inline void feed_mouse_button(ImGuiIO& io, int button, bool down) {
#if IMGUI_VERSION_NUM >= 18700
  io.AddMouseButtonEvent(button, down);
#else
  io.MouseDown[button] = down;
#endif
}

}  // namespace headlight
