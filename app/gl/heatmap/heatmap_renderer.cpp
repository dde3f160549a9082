#include "app/gl/heatmap/heatmap_renderer.h"

#include <epoxy/gl.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/error.h"

namespace headlight {

HeatmapRenderer::Entry::Entry(const Id& its_id, const HeatmapQuad& quad,
                              const HeatmapLayout& layout, const HeatmapSource& source,
                              HeatmapFill& fill)
    : id(its_id), texture(quad, layout, source, fill) {}

HeatmapRenderer::Entry::Entry(const Id& its_id, const HeatmapQuad& quad,
                              const HeatmapLayout& layout, std::vector<float>& staging)
    : id(its_id), texture(quad, layout, staging) {}

std::size_t HeatmapRenderer::IdHash::operator()(const Id& id) const {
  std::uint64_t hash = id.key;
  for (const std::int64_t part : {id.rows, id.columns, id.row_stride, id.column_stride,
                                  std::int64_t{id.row_step} * 65536 + id.column_step}) {
    hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  return static_cast<std::size_t>(hash);
}

HeatmapRenderer::Program::Program(const std::string& defines)
    : program([&defines] {
        const ShaderStage fragment = embedded_stage("shaders/heatmap.frag");
        const std::string text = with_defines(fragment.text, defines);
        return ShaderProgram(
            {embedded_stage("shaders/heatmap.vert"), {fragment.kind, fragment.name, text}});
      }()),
      rect(program.uniform("rect")),
      size(program.uniform("size")),
      framebuffer(program.uniform("framebuffer")),
      cells(program.uniform("cells")),
      tile(program.uniform("tile")),
      tiles_across(program.uniform("tiles_across")),
      transposed(program.uniform("transposed")),
      unit(program.uniform("unit")),
      gap(program.uniform("gap")),
      sequential(program.uniform("sequential")),
      limit(program.uniform("limit")),
      low(program.uniform("low")),
      center(program.uniform("center")),
      high(program.uniform("high")),
      hatch(program.uniform("hatch")),
      invalid(program.uniform("invalid")) {}

HeatmapRenderer::HeatmapRenderer(const HeatmapCacheLimits& limits) : limits_(limits) {
  GLint side = 0;
  glGetIntegerv(GL_MAX_TEXTURE_SIZE, &side);
  glGetIntegerv(GL_MAX_ARRAY_TEXTURE_LAYERS, &max_layers_);
  limits_.texture_side = limits_.texture_side > 0 ? std::min(limits_.texture_side, side) : side;
  programs_[0] = std::make_unique<Program>("");  // an error in the shaders should show at the start
  glGenVertexArrays(1, &vertex_array_);
}

HeatmapRenderer::~HeatmapRenderer() { glDeleteVertexArrays(1, &vertex_array_); }

void HeatmapRenderer::begin_frame(int framebuffer_width, int framebuffer_height) {
  width_ = framebuffer_width;
  height_ = framebuffer_height;
  ++frame_;
  cells_read_ = 0;
  unfinished_ = false;
}

void HeatmapRenderer::draw(const HeatmapQuad& quad, const PixelRect& clip,
                           const HeatmapSource& source) {
  const PixelRect seen = {std::max(clip.x0, 0), std::max(clip.y0, 0), std::min(clip.x1, width_),
                          std::min(clip.y1, height_)};
  const auto in = [](float low, float high, int begin, int end) {  // false for NaN, too
    return low < high && begin < end && high > static_cast<float>(begin) &&
           low < static_cast<float>(end);
  };
  if (quad.rows < 1 || quad.columns < 1) return;
  if (!in(quad.x0, quad.x1, seen.x0, seen.x1) || !in(quad.y0, quad.y1, seen.y0, seen.y1)) return;
  const HeatmapTexture* texture = texture_for(quad, source);
  if (!texture) return;
  const Program& program = program_for(quad, texture->layout());
  set_state(seen);
  set_uniforms(program, quad, texture->layout());
  glBindTexture(GL_TEXTURE_2D_ARRAY, texture->id());
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
  glBindTexture(GL_TEXTURE_2D_ARRAY, 0);
}

const HeatmapRenderer::Program& HeatmapRenderer::program_for(const HeatmapQuad& quad,
                                                             const HeatmapLayout& layout) {
  const float across = static_cast<float>(layout.columns) / (quad.x1 - quad.x0);
  const float down = static_cast<float>(layout.rows) / (quad.y1 - quad.y0);
  const Detail detail = !layout.reduced               ? Detail::kCells
                        : std::max(across, down) <= 1 ? Detail::kBlocks
                                                      : Detail::kStrongest;
  const bool tiled = layout.layers() > 1;
  std::unique_ptr<Program>& program =
      programs_[static_cast<std::size_t>(detail) * 2 + (tiled ? 1 : 0)];
  if (!program) {
    const std::array<const char*, 3> defines = {"", "#define BLOCKS\n",
                                                "#define BLOCKS\n#define STRONGEST\n"};
    program = std::make_unique<Program>(defines[static_cast<std::size_t>(detail)] +
                                        std::string(tiled ? "#define TILED\n" : ""));
  }
  return *program;
}

void HeatmapRenderer::end_frame() {
  while (!lru_.empty() && lru_.back().used + limits_.frames < frame_) drop_oldest();
}

namespace {

// How many cells become one so that at most two still share a pixel.
int step_for(std::int64_t cells, float pixels) {
  int step = 1;
  while (static_cast<float>(cells) > 2 * pixels * static_cast<float>(step) && step < 1 << 14) {
    step *= 2;
  }
  return step;
}

}  // namespace

const HeatmapTexture* HeatmapRenderer::texture_for(const HeatmapQuad& quad,
                                                   const HeatmapSource& source) {
  Id id = {quad.key, quad.rows, quad.columns, quad.row_stride, quad.column_stride, 0, 0};
  const float width = quad.x1 - quad.x0, height = quad.y1 - quad.y0;
  // A little below one pixel a cell: rounding must not change the kind of a picture.
  const bool dense = static_cast<float>(quad.columns) > width * 1.001f ||
                     static_cast<float>(quad.rows) > height * 1.001f;
  if (dense) {
    id.row_step = step_for(quad.rows, height);
    id.column_step = step_for(quad.columns, width);
  }
  if (const auto found = entries_.find(id); found != entries_.end()) {
    lru_.splice(lru_.begin(), lru_, found->second);
  } else {
    if (!fill_ && source.buffer != 0) fill_ = std::make_unique<HeatmapFill>();
    // A device that failed may have taken its buffers along.
    const bool on_device =
        source.buffer != 0 && fill_->takes(source) && glIsBuffer(source.buffer) == GL_TRUE;
    if (!quad.data && !on_device) {
      throw UsageError("The heatmap with key " + std::to_string(quad.key) + " (" +
                       std::to_string(quad.rows) + " x " + std::to_string(quad.columns) +
                       ") has no numbers; set HeatmapQuad::data and keep them until the frame is "
                       "drawn.");
    }
    const std::int64_t cells = quad.rows * quad.columns;
    if (limits_.cells_per_frame > 0 && cells_read_ > 0 &&
        cells_read_ + cells > limits_.cells_per_frame) {
      unfinished_ = true;
      return nullptr;
    }
    cells_read_ += cells;
    const HeatmapLayout layout =
        plan_heatmap_texture(quad, limits_.texture_side, max_layers_, dense,
                             std::max(id.row_step, 1), std::max(id.column_step, 1));
    make_room(layout.bytes());
    if (on_device) {
      lru_.emplace_front(id, quad, layout, source, *fill_);
      ++device_uploads_;
    } else {
      lru_.emplace_front(id, quad, layout, staging_);
    }
    entries_.emplace(id, lru_.begin());
    bytes_ += layout.bytes();
    ++uploads_;
  }
  lru_.front().used = frame_;
  return &lru_.front().texture;
}

void HeatmapRenderer::drop_oldest() {
  bytes_ -= lru_.back().texture.layout().bytes();
  entries_.erase(lru_.back().id);
  lru_.pop_back();
}

/// Forgets the longest unused until `bytes` more fit, but none that this very frame drew: it would
/// have to be uploaded again in the next one.
void HeatmapRenderer::make_room(std::size_t bytes) {
  while (!lru_.empty() && lru_.back().used < frame_ &&
         (bytes_ + bytes > limits_.bytes || lru_.size() >= limits_.textures)) {
    drop_oldest();
  }
}

void HeatmapRenderer::set_state(const PixelRect& clip) const {
  glViewport(0, 0, width_, height_);
  glDisable(GL_CULL_FACE);
  glDisable(GL_DEPTH_TEST);
  glDisable(GL_STENCIL_TEST);
  glEnable(GL_SCISSOR_TEST);
  glScissor(clip.x0, height_ - clip.y1, clip.x1 - clip.x0, clip.y1 - clip.y0);
  glEnable(GL_BLEND);
  glBlendEquation(GL_FUNC_ADD);
  glBlendFuncSeparate(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA, GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
  glActiveTexture(GL_TEXTURE0);
  glBindSampler(0, 0);
  glBindVertexArray(vertex_array_);
}

void HeatmapRenderer::set_uniforms(const Program& at, const HeatmapQuad& quad,
                                   const HeatmapLayout& layout) const {
  at.program.use();
  const auto color = [](int where, const Color& c) { glUniform4f(where, c.r, c.g, c.b, c.a); };
  const ColorScale& scale = quad.scale;
  const bool usable = scale.limit > 0 && std::isfinite(scale.limit);
  glUniform4f(at.rect, quad.x0, quad.y0, quad.x1, quad.y1);
  // The last blocks may hold fewer cells than the others.
  glUniform2f(
      at.size,
      (quad.x1 - quad.x0) / static_cast<float>(quad.columns) *
          static_cast<float>(layout.column_step),
      (quad.y1 - quad.y0) / static_cast<float>(quad.rows) * static_cast<float>(layout.row_step));
  glUniform2f(at.framebuffer, static_cast<float>(width_), static_cast<float>(height_));
  glUniform2i(at.cells, layout.columns, layout.rows);
  glUniform2i(at.tile, layout.tile_width, layout.tile_height);
  glUniform1i(at.tiles_across, layout.tiles_across);
  glUniform1i(at.transposed, layout.transposed);
  glUniform1f(at.unit, std::max(1.0f, std::round(quad.unit)));
  glUniform1f(at.gap, quad.gap);
  glUniform1i(at.sequential, scale.map == ColorMap::kSequential);
  glUniform1f(at.limit, usable ? scale.limit : 1.0f);
  color(at.low, scale.low);
  color(at.center, scale.center);
  color(at.high, scale.high);
  color(at.hatch, scale.hatch);
  color(at.invalid, scale.invalid);
}

}  // namespace headlight
