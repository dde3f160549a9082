#include "app/platform/offscreen.h"

#include <epoxy/gl.h>
#include <imgui_impl_opengl3.h>

#include "app/gl/context/compute_context.h"
#include "app/gl/context/egl_context.h"
#include "app/gl/context/framebuffer.h"
#include "app/platform/font_texture.h"
#include "app/platform/heatmap_bridge.h"
#include "app/platform/imgui_renderer.h"

namespace headlight {

struct Offscreen::Parts {
  Parts(Shell& shell, int w, int h) : width(w), height(h), target(w, h), frontend(shell, bridge) {
    start_imgui_renderer();
  }
  ~Parts() { end_imgui_renderer(); }
  int width, height;
  EglContext context;
  Framebuffer target;
  ImGuiHost host;
  HeatmapBridge bridge{true};
  Frontend frontend;
  FontTexture font_texture;
};

Offscreen::Offscreen(Shell& shell, int width, int height)
    : parts_(std::make_unique<Parts>(shell, width, height)) {}
Offscreen::~Offscreen() = default;
Frontend& Offscreen::frontend() { return parts_->frontend; }
const HeatmapBridge& Offscreen::bridge() const { return parts_->bridge; }
std::unique_ptr<ComputeContext> Offscreen::compute_context() const {
  return make_egl_compute_context(&parts_->context);
}

void Offscreen::frame() {
  Parts& p = *parts_;
  p.context.make_current();
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = {static_cast<float>(p.width), static_cast<float>(p.height)};
  io.DeltaTime = 1.0f / 60.0f;
  p.font_texture.update(p.frontend);
  ImGui_ImplOpenGL3_NewFrame();
  ImGui::NewFrame();
  p.bridge.begin_frame();
  p.frontend.draw(io.DisplaySize.x, io.DisplaySize.y);
  ImGui::Render();
  const Theme theme = Theme::make(p.frontend.shell().state().session.dark);
  p.target.clear(theme.background);
  p.bridge.render(ImGui::GetDrawData(), p.width, p.height);
}

std::vector<std::uint8_t> Offscreen::picture() {
  // Layout, scrolling and one-shot requests settle within a few frames.
  for (int i = 0; i < 4; ++i) {
    parts_->frontend.shell().wait();
    frame();
  }
  return read();
}

std::vector<std::uint8_t> Offscreen::read() { return parts_->target.read_rgba(); }

}  // namespace headlight
