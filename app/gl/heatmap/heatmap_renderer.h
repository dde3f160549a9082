// Draws heatmaps: one rectangle each, coloured by a fragment shader, whatever the number of cells.
//
// OpenGL state. draw() may be called in the middle of another renderer's frame (an ImGui draw list
// callback): it sets all that it needs and changes only the program, the vertex array, blending,
// the scissor box and test, viewport, cull, depth and stencil tests, the sampler and the *array*
// texture (not the 2D one) of texture unit 0, which it leaves active. All of that but the array
// texture, which is left unbound, is what Dear ImGui's ImDrawCallback_ResetRenderState sets again.
// The framebuffer, polygon mode, colour mask and GL_FRAMEBUFFER_SRGB (off) are the caller's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "app/gl/context/shader.h"
#include "app/gl/heatmap/heatmap_fill.h"
#include "app/gl/heatmap/heatmap_texture.h"
#include "core/view/heatmap.h"

namespace headlight {

/// A rectangle in framebuffer pixels, y down; x1 and y1 are just outside.
struct PixelRect {
  int x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

/// How much a HeatmapRenderer keeps.
struct HeatmapCacheLimits {
  std::size_t bytes = std::size_t{96} << 20;  // of numbers; more only while one frame needs more
  std::size_t textures = 2048;                // likewise: small ones cost a driver more than bytes
  std::int64_t frames = 120;                  // a texture unused for longer goes
  int texture_side = 0;                       // 0: the driver's limit; less to test tiles
  std::int64_t cells_per_frame = 0;           // read for new textures in a frame; 0: any number
};

/// Draws HeatmapQuads into the framebuffer that is bound, and keeps the numbers of each in graphics
/// memory while their key is used. Needs a current context from first to last.
class HeatmapRenderer {
 public:
  /// Throws Error when the shaders do not compile.
  explicit HeatmapRenderer(const HeatmapCacheLimits& limits = {});
  ~HeatmapRenderer();
  HeatmapRenderer(const HeatmapRenderer&) = delete;
  HeatmapRenderer& operator=(const HeatmapRenderer&) = delete;

  /// Starts a frame on a framebuffer of this many pixels. Calls no OpenGL.
  void begin_frame(int framebuffer_width, int framebuffer_height);

  /// Draws one heatmap, only inside `clip`. Numbers are read from `quad.data` when the renderer has
  /// none for this key and shape, never else; a new texture or a new kind of picture allocates, a
  /// frame like the one before does not. A quad that is empty or outside the clip draws and
  /// uploads nothing. Throws UsageError when numbers are needed and `quad.data` is null, Error when
  /// graphics memory is full.
  /// Where `source` has a buffer the numbers come from there, and `quad.data` is not read.
  void draw(const HeatmapQuad& quad, const PixelRect& clip, const HeatmapSource& source = {});

  /// Draws many small ones, those of one shape that follow each other from one texture: the same
  /// pictures, with fewer calls. Numbers are read where they are seen first.
  void draw_all(std::span<const HeatmapQuad> quads, const PixelRect& clip);

  /// Ends the frame: forgets textures that were not used for a while.
  void end_frame();

  /// Bytes of numbers in graphics memory now.
  std::size_t texture_bytes() const { return bytes_; }
  std::size_t texture_count() const { return lru_.size(); }
  /// Textures filled since the beginning; a frame of known keys adds none.
  std::uint64_t uploads() const { return uploads_; }
  /// Those of them whose numbers came from a buffer of the device.
  std::uint64_t device_uploads() const { return device_uploads_; }
  /// Did the last frame leave out pictures whose numbers were too many for one frame? They follow
  /// in the next ones.
  bool unfinished() const { return unfinished_; }

 private:
  /// Which numbers a texture holds. Shape and strides belong to it, so that one key used for two
  /// views of a tensor shows each as it is.
  struct Id {
    std::uint64_t key = 0;
    std::int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 0;
    int row_step = 0, column_step = 0;  // 0: the numbers themselves, else blocks of them
    int count = 0;                      // of matrices in one texture; 0: one alone
    bool operator==(const Id&) const = default;
  };
  struct IdHash {
    std::size_t operator()(const Id&) const;
  };
  struct Entry {
    Entry(const Id&, const HeatmapQuad&, const HeatmapLayout&, std::vector<float>& staging);
    Entry(const Id&, const HeatmapQuad&, const HeatmapLayout&, const HeatmapSource&, HeatmapFill&);
    Entry(const Id&, const HeatmapQuad&, const HeatmapLayout&);
    Id id;
    HeatmapTexture texture;
    std::vector<bool> filled;  // of several matrices
    std::int64_t used = 0;     // the last frame that drew it
  };
  /// One way to build the fragment shader: what it spares matters to the software renderer.
  enum class Detail { kCells, kBlocks, kStrongest };
  enum class Layers { kOne, kTiles, kMany };
  struct Program {
    explicit Program(const std::string& defines);
    ShaderProgram program;
    int rect, rects, layers, size, framebuffer, cells, tile, tiles_across, transposed, unit, gap,
        sequential, limit;
    int low, center, high, hatch, invalid;
  };

  const Program& program_for(const HeatmapQuad&, const HeatmapLayout&, Layers);
  Id id_of(const HeatmapQuad&) const;
  HeatmapLayout layout_of(const HeatmapQuad&, const Id&) const;
  PixelRect seen_part(const PixelRect& clip) const;
  bool may_read(const HeatmapQuad&);
  void add(std::uint64_t uploads);
  Entry& atlas_for(std::span<const HeatmapQuad>, Id);
  void draw_group(std::span<const HeatmapQuad>, const Id&, const PixelRect& seen);
  /// Null when it has to wait for the next frame.
  const HeatmapTexture* texture_for(const HeatmapQuad&, const HeatmapSource&);
  void drop_oldest();
  void make_room(std::size_t bytes);
  void set_state(const PixelRect& clip) const;
  void set_uniforms(const Program&, const HeatmapQuad&, const HeatmapLayout&) const;

  HeatmapCacheLimits limits_;
  int max_layers_ = 1;
  std::array<std::unique_ptr<Program>, 9> programs_;  // built when first needed
  unsigned vertex_array_ = 0;
  int width_ = 0, height_ = 0;  // of the framebuffer
  std::int64_t frame_ = 0;
  std::list<Entry> lru_;  // last used first
  std::unordered_map<Id, std::list<Entry>::iterator, IdHash> entries_;
  std::size_t bytes_ = 0;
  std::uint64_t uploads_ = 0;
  std::int64_t cells_read_ = 0;  // in this frame
  bool unfinished_ = false;
  std::vector<float> staging_;
  std::unique_ptr<HeatmapFill> fill_;  // made when first needed
  std::uint64_t device_uploads_ = 0;
};

}  // namespace headlight
