// Joins the panels' heatmaps to OpenGL: each becomes a callback in ImGui's draw list.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "app/gl/heatmap/heatmap_renderer.h"
#include "app/gl/heatmap/vision_filter.h"
#include "app/ui/kit/ui.h"

namespace headlight {

class HeatmapBridge final : public HeatmapSink {
 public:
  /// Numbers of new pictures are read over several frames, so that none takes long; `at_once`: all
  /// in the frame that shows them.
  explicit HeatmapBridge(bool at_once = false);
  void draw(ImDrawList*, const HeatmapQuad&) override;
  void draw_all(ImDrawList*, std::span<const HeatmapQuad>) override;
  void set_vision(Vision vision) override { vision_ = vision; }
  void set_device_cells(std::shared_ptr<const DeviceCells> cells) override {
    device_cells_ = std::move(cells);
  }
  /// Pictures so far, and those of them that were made of buffers of the graphics card.
  std::uint64_t pictures() const { return renderer_.uploads(); }
  std::uint64_t device_pictures() const { return renderer_.device_uploads(); }
  bool unfinished() const override { return renderer_.unfinished(); }
  /// Before the frame is built.
  void begin_frame() {
    quads_.clear();
    groups_ = 0;
  }
  /// Why a picture could not be drawn; empty when all went well.
  const std::string& problem() const { return problem_; }
  /// Draws ImGui's lists into the current framebuffer of this many pixels.
  void render(ImDrawData*, int width, int height);

 private:
  struct Item {
    HeatmapQuad quad;
    HeatmapBridge* bridge = nullptr;
  };
  // Pictures that are drawn together. Kept from frame to frame, so that their room is.
  struct Group {
    std::vector<HeatmapQuad> quads;
    HeatmapBridge* bridge = nullptr;
  };
  static void callback(const ImDrawList*, const ImDrawCmd*);
  static void callback_all(const ImDrawList*, const ImDrawCmd*);
  void to_pixels(HeatmapQuad&) const;
  PixelRect to_pixels(const ImVec4& clip) const;
  HeatmapRenderer renderer_;
  std::deque<Item> quads_;  // stays where it is while it grows: the draw lists point into it
  std::deque<Group> all_groups_;
  std::size_t groups_ = 0;  // of them in this frame
  std::string problem_;
  Vision vision_ = Vision::kFull;
  std::shared_ptr<const DeviceCells> device_cells_;
  std::unique_ptr<VisionFilter> filter_;  // made when first needed
  ImVec2 origin_, scale_ = {1, 1};
};

}  // namespace headlight
