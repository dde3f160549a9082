#include "app/platform/heatmap_bridge.h"

#include <algorithm>
#include <cmath>

#include "app/platform/backend_compat.h"
#include "core/base/random.h"

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
  bridge.to_pixels(quad);
  HeatmapSource source;
  const auto* stretch = bridge.device_cells_ ? bridge.device_cells_->find(quad.data) : nullptr;
  if (stretch) source = {stretch->buffer, quad.data - stretch->begin, stretch->cells};
  bridge.renderer_.draw(quad, bridge.to_pixels(command->ClipRect), source);
}

// Those whose numbers are on the graphics card come from there one by one.
void HeatmapBridge::draw_all(ImDrawList* list, std::span<const HeatmapQuad> quads) {
  const auto alone = [&](const HeatmapQuad& quad) {
    return quad.head_stride > 0 || (device_cells_ && device_cells_->find(quad.data));
  };
  if (std::any_of(quads.begin(), quads.end(), alone)) return HeatmapSink::draw_all(list, quads);
  if (groups_ == all_groups_.size()) all_groups_.push_back({{}, this});
  Group& group = all_groups_[groups_++];
  group.quads.assign(quads.begin(), quads.end());
  list->AddCallback(&HeatmapBridge::callback_all, &group);
  list->AddCallback(ImDrawCallback_ResetRenderState, nullptr);
}

void HeatmapBridge::callback_all(const ImDrawList*, const ImDrawCmd* command) {
  auto* group = static_cast<Group*>(command->UserCallbackData);
  HeatmapBridge& bridge = *group->bridge;
  for (HeatmapQuad& quad : group->quads) bridge.to_pixels(quad);
  bridge.renderer_.draw_all(group->quads, bridge.to_pixels(command->ClipRect));
}

void HeatmapBridge::to_pixels(HeatmapQuad& quad) const {
  quad.x0 = (quad.x0 - origin_.x) * scale_.x;
  quad.x1 = (quad.x1 - origin_.x) * scale_.x;
  quad.y0 = (quad.y0 - origin_.y) * scale_.y;
  quad.y1 = (quad.y1 - origin_.y) * scale_.y;
}

PixelRect HeatmapBridge::to_pixels(const ImVec4& clip) const {
  const auto whole = [](float v) { return static_cast<int>(std::lround(v)); };
  return {whole((clip.x - origin_.x) * scale_.x), whole((clip.y - origin_.y) * scale_.y),
          whole((clip.z - origin_.x) * scale_.x), whole((clip.w - origin_.y) * scale_.y)};
}

void HeatmapBridge::render(ImDrawData* data, int width, int height) {
  origin_ = data->DisplayPos;
  scale_ = data->FramebufferScale;
  const bool filtered = vision_ != Vision::kFull;
  if (filtered && !filter_) filter_ = std::make_unique<VisionFilter>();
  if (filtered) filter_->begin(width, height);
  renderer_.begin_frame(width, height);
  keep_textures(*data);
  ImGui_ImplOpenGL3_RenderDrawData(data);
  renderer_.end_frame();
  if (filtered) filter_->end(vision_);
}

}  // namespace headlight
