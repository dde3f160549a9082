#include "app/gl/heatmap/heatmap_renderer.h"

#include <epoxy/gl.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/error.h"
#include "core/base/random.h"

namespace headlight {
namespace {

// Pictures in one draw: their places take three quarters of the least room for uniforms.
constexpr int kMany = 96;

}  // namespace

HeatmapRenderer::Entry::Entry(const Id& its_id, const HeatmapQuad& quad,
                              const HeatmapLayout& layout, const HeatmapSource& source,
                              HeatmapFill& fill)
    : id(its_id), texture(quad, layout, source, fill) {}

HeatmapRenderer::Entry::Entry(const Id& its_id, const HeatmapQuad& quad,
                              const HeatmapLayout& layout, std::vector<float>& staging)
    : id(its_id), texture(quad, layout, staging) {}

HeatmapRenderer::Entry::Entry(const Id& its_id, const HeatmapQuad& quad,
                              const HeatmapLayout& layout)
    : id(its_id),
      texture(quad, layout, its_id.count),
      filled(static_cast<std::size_t>(its_id.count)) {}

std::size_t HeatmapRenderer::IdHash::operator()(const Id& id) const {
  std::uint64_t hash = id.key;
  for (const std::int64_t part :
       {id.rows, id.columns, id.row_stride, id.column_stride,
        std::int64_t{id.row_step} * 65536 + id.column_step, std::int64_t{id.count}}) {
    hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  return static_cast<std::size_t>(hash);
}

HeatmapRenderer::Program::Program(const std::string& defines)
    : program([&defines] {
        const ShaderStage vertex = embedded_stage("shaders/heatmap.vert");
        const ShaderStage fragment = embedded_stage("shaders/heatmap.frag");
        return ShaderProgram(
            {{vertex.kind, vertex.name, with_defines(vertex.text, defines)},
             {fragment.kind, fragment.name, with_defines(fragment.text, defines)}});
      }()),
      rect(program.uniform("rect")),
      rects(program.uniform("rects")),
      layers(program.uniform("layers")),
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

PixelRect HeatmapRenderer::seen_part(const PixelRect& clip) const {
  return {std::max(clip.x0, 0), std::max(clip.y0, 0), std::min(clip.x1, width_),
          std::min(clip.y1, height_)};
}

namespace {

bool is_seen(const HeatmapQuad& quad, const PixelRect& seen) {
  const auto in = [](float low, float high, int begin, int end) {  // false for NaN, too
    return low < high && begin < end && high > static_cast<float>(begin) &&
           low < static_cast<float>(end);
  };
  return quad.rows > 0 && quad.columns > 0 && in(quad.x0, quad.x1, seen.x0, seen.x1) &&
         in(quad.y0, quad.y1, seen.y0, seen.y1);
}

}  // namespace

void HeatmapRenderer::draw(const HeatmapQuad& quad, const PixelRect& clip,
                           const HeatmapSource& source) {
  const PixelRect seen = seen_part(clip);
  if (!is_seen(quad, seen)) return;
  const HeatmapTexture* texture = texture_for(quad, source);
  if (!texture) return;
  const HeatmapLayout& layout = texture->layout();
  const Program& program =
      program_for(quad, layout, layout.layers() > 1 ? Layers::kTiles : Layers::kOne);
  set_state(seen);
  set_uniforms(program, quad, layout);
  glUniform4f(program.rect, quad.x0, quad.y0, quad.x1, quad.y1);
  glBindTexture(GL_TEXTURE_2D_ARRAY, texture->id());
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
  glBindTexture(GL_TEXTURE_2D_ARRAY, 0);
}

const HeatmapRenderer::Program& HeatmapRenderer::program_for(const HeatmapQuad& quad,
                                                             const HeatmapLayout& layout,
                                                             Layers layers) {
  const float across = static_cast<float>(layout.columns) / (quad.x1 - quad.x0);
  const float down = static_cast<float>(layout.rows) / (quad.y1 - quad.y0);
  const Detail detail = !layout.reduced               ? Detail::kCells
                        : std::max(across, down) <= 1 ? Detail::kBlocks
                                                      : Detail::kStrongest;
  std::unique_ptr<Program>& program =
      programs_[static_cast<std::size_t>(detail) * 3 + static_cast<std::size_t>(layers)];
  if (!program) {
    const std::array<const char*, 3> details = {"", "#define BLOCKS\n",
                                                "#define BLOCKS\n#define STRONGEST\n"};
    const std::array<std::string, 3> kinds = {"", "#define TILED\n",
                                              "#define MANY " + std::to_string(kMany) + "\n"};
    program = std::make_unique<Program>(details[static_cast<std::size_t>(detail)] +
                                        kinds[static_cast<std::size_t>(layers)]);
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

HeatmapRenderer::Id HeatmapRenderer::id_of(const HeatmapQuad& quad) const {
  Id id = {quad.key, quad.rows, quad.columns, quad.row_stride, quad.column_stride, 0, 0, 0};
  const float width = quad.x1 - quad.x0, height = quad.y1 - quad.y0;
  // A little below one pixel a cell: rounding must not change the kind of a picture.
  const bool dense = static_cast<float>(quad.columns) > width * 1.001f ||
                     static_cast<float>(quad.rows) > height * 1.001f;
  if (dense) {
    id.row_step = step_for(quad.rows, height);
    id.column_step = step_for(quad.columns, width);
  }
  return id;
}

HeatmapLayout HeatmapRenderer::layout_of(const HeatmapQuad& quad, const Id& id) const {
  return plan_heatmap_texture(quad, limits_.texture_side, max_layers_, id.row_step > 0,
                              std::max(id.row_step, 1), std::max(id.column_step, 1));
}

// Are its numbers to be read in this frame?
bool HeatmapRenderer::may_read(const HeatmapQuad& quad) {
  const std::int64_t cells = quad.rows * quad.columns;
  if (limits_.cells_per_frame > 0 && cells_read_ > 0 &&
      cells_read_ + cells > limits_.cells_per_frame) {
    unfinished_ = true;
    return false;
  }
  cells_read_ += cells;
  return true;
}

// What was just put in front of the others.
void HeatmapRenderer::add(std::uint64_t uploads) {
  entries_.emplace(lru_.front().id, lru_.begin());
  bytes_ += lru_.front().texture.bytes();
  uploads_ += uploads;
}

const HeatmapTexture* HeatmapRenderer::texture_for(const HeatmapQuad& quad,
                                                   const HeatmapSource& source) {
  const Id id = id_of(quad);
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
    if (!may_read(quad)) return nullptr;
    const HeatmapLayout layout = layout_of(quad, id);
    make_room(layout.bytes());
    if (on_device) {
      lru_.emplace_front(id, quad, layout, source, *fill_);
      ++device_uploads_;
    } else {
      lru_.emplace_front(id, quad, layout, staging_);
    }
    add(1);
  }
  lru_.front().used = frame_;
  return &lru_.front().texture;
}

void HeatmapRenderer::draw_all(std::span<const HeatmapQuad> quads, const PixelRect& clip) {
  const PixelRect seen = seen_part(clip);
  while (!quads.empty()) {
    const HeatmapQuad& first = quads.front();
    Id id = id_of(first);
    const auto alike = [&](const HeatmapQuad& quad) {
      Id own = id_of(quad);
      own.key = id.key;
      return own == id && quad.x1 - quad.x0 == first.x1 - first.x0 &&
             quad.y1 - quad.y0 == first.y1 - first.y0;
    };
    std::size_t count = 1;
    while (count < quads.size() && alike(quads[count]) &&
           count < static_cast<std::size_t>(max_layers_))
      ++count;
    const auto group = quads.first(count);
    quads = quads.subspan(count);
    const bool empty = first.rows < 1 || first.columns < 1;
    if (empty || layout_of(first, id).layers() > 1) {
      for (const HeatmapQuad& quad : group) draw(quad, clip);
    } else {
      draw_group(group, id, seen);
    }
  }
}

// One texture for all of a group.
HeatmapRenderer::Entry& HeatmapRenderer::atlas_for(std::span<const HeatmapQuad> group, Id id) {
  id.count = static_cast<int>(group.size());
  for (const HeatmapQuad& quad : group.subspan(1)) id.key = scatter(id.key ^ quad.key);
  if (const auto found = entries_.find(id); found != entries_.end()) {
    lru_.splice(lru_.begin(), lru_, found->second);
  } else {
    const HeatmapLayout layout = layout_of(group.front(), id);
    make_room(layout.bytes() * group.size());
    lru_.emplace_front(id, group.front(), layout);
    add(0);
  }
  lru_.front().used = frame_;
  return lru_.front();
}

void HeatmapRenderer::draw_group(std::span<const HeatmapQuad> group, const Id& id,
                                 const PixelRect& seen) {
  const auto any = [&](const HeatmapQuad& quad) { return is_seen(quad, seen); };
  if (std::none_of(group.begin(), group.end(), any)) return;
  Entry& atlas = atlas_for(group, id);
  const HeatmapLayout& layout = atlas.texture.layout();
  const Program& program = program_for(group.front(), layout, Layers::kMany);
  std::array<float, std::size_t{4} * kMany> rects;
  std::array<int, kMany> layers;
  int count = 0;
  const HeatmapQuad* drawn = nullptr;  // whose colours the next draw has
  const auto flush = [&] {
    if (count == 0) return;
    set_state(seen);
    set_uniforms(program, *drawn, layout);
    glUniform4fv(program.rects, count, rects.data());
    glUniform1iv(program.layers, count, layers.data());
    glBindTexture(GL_TEXTURE_2D_ARRAY, atlas.texture.id());
    glDrawArraysInstanced(GL_TRIANGLE_STRIP, 0, 4, count);
    glBindTexture(GL_TEXTURE_2D_ARRAY, 0);
    count = 0;
  };
  for (std::size_t i = 0; i < group.size(); ++i) {
    const HeatmapQuad& quad = group[i];
    if (!is_seen(quad, seen)) continue;
    if (!atlas.filled[i]) {
      if (!may_read(quad)) continue;
      atlas.texture.fill(static_cast<int>(i), quad, staging_);
      atlas.filled[i] = true;
      ++uploads_;
    }
    const bool fits = drawn && quad.scale == drawn->scale && quad.gap == drawn->gap;
    if (!fits || count == kMany) flush();
    drawn = &quad;
    const auto at = static_cast<std::size_t>(count);
    const float rect[] = {quad.x0, quad.y0, quad.x1, quad.y1};
    std::copy(std::begin(rect), std::end(rect),
              rects.begin() + static_cast<std::ptrdiff_t>(4 * at));
    layers[at] = static_cast<int>(i);
    ++count;
  }
  flush();
}

void HeatmapRenderer::drop_oldest() {
  bytes_ -= lru_.back().texture.bytes();
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
