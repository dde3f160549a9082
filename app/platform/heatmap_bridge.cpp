#include "app/platform/heatmap_bridge.h"

#include "core/base/random.h"

#include <imgui_impl_opengl3.h>

#include <cmath>

namespace headlight {
namespace {

// Reading a million numbers takes one to two milliseconds.
constexpr std::int64_t kCellsPerFrame = std::int64_t{4} << 20;

HeatmapCacheLimits limits(bool at_once) {
  HeatmapCacheLimits limits;
  limits.cells_per_frame = at_once ? 0 : kCellsPerFrame;
  return limits;
}

}  // namespace

HeatmapBridge::HeatmapBridge(bool at_once) : renderer_(limits(at_once)) {}

void HeatmapBridge::draw(ImDrawList* list, const HeatmapQuad& quad) {
  if (quad.head_stride > 0) {  // each head's columns by themselves
    const std::int64_t heads = quad.columns / quad.head_columns;
    const float width = (quad.x1 - quad.x0) / static_cast<float>(heads);
    for (std::int64_t head = 0; head < heads; ++head) {
      HeatmapQuad part = quad;
      part.head_stride = 0;
      part.columns = quad.head_columns;
      part.data += head * quad.head_stride;
      part.key = scatter(quad.key ^ static_cast<std::uint64_t>(head));
      part.x0 = quad.x0 + width * static_cast<float>(head);
      part.x1 = head + 1 == heads ? quad.x1 : part.x0 + width;
      draw(list, part);
    }
    return;
  }
  quads_.push_back({quad, this});
  list->AddCallback(&HeatmapBridge::callback, &quads_.back());
  list->AddCallback(ImDrawCallback_ResetRenderState, nullptr);
}

void HeatmapBridge::callback(const ImDrawList*, const ImDrawCmd* command) {
  const auto* item = static_cast<const Item*>(command->UserCallbackData);
  HeatmapBridge& bridge = *item->bridge;
  HeatmapQuad quad = item->quad;
  const auto x = [&](float v) { return (v - bridge.origin_.x) * bridge.scale_.x; };
  const auto y = [&](float v) { return (v - bridge.origin_.y) * bridge.scale_.y; };
  quad.x0 = x(quad.x0);
  quad.x1 = x(quad.x1);
  quad.y0 = y(quad.y0);
  quad.y1 = y(quad.y1);
  const ImVec4& clip = command->ClipRect;
  const auto whole = [](float v) { return static_cast<int>(std::lround(v)); };
  HeatmapSource source;
  const auto* stretch = bridge.device_cells_ ? bridge.device_cells_->find(quad.data) : nullptr;
  if (stretch) source = {stretch->buffer, quad.data - stretch->begin, stretch->cells};
  bridge.renderer_.draw(
      quad, {whole(x(clip.x)), whole(y(clip.y)), whole(x(clip.z)), whole(y(clip.w))}, source);
}

void HeatmapBridge::render(ImDrawData* data, int width, int height) {
  origin_ = data->DisplayPos;
  scale_ = data->FramebufferScale;
  const bool filtered = vision_ != Vision::kFull;
  if (filtered && !filter_) filter_ = std::make_unique<VisionFilter>();
  if (filtered) filter_->begin(width, height);
  renderer_.begin_frame(width, height);
  ImGui_ImplOpenGL3_RenderDrawData(data);
  renderer_.end_frame();
  if (filtered) filter_->end(vision_);
}

}  // namespace headlight
