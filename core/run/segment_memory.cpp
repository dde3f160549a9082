#include "core/run/segment_memory.h"

#include <algorithm>

namespace headlight {

std::int64_t remembered_rows(const Config& c, std::int64_t before, std::int64_t positions) {
  return std::min<std::int64_t>(c.memory, before + positions);
}

void make_room(const Config& c, const SegmentMemory& before, std::int64_t batch,
               std::int64_t positions, SegmentMemory& next) {
  next.batch = batch;
  next.rows = remembered_rows(c, before.rows, positions);
  next.layers.resize(static_cast<std::size_t>(c.layers));
  for (FloatBuffer& layer : next.layers)
    layer.resize(static_cast<std::size_t>(batch * next.rows * c.d_model));
}

void fill_memory(const Program& p, const SegmentMemory& memory, std::int64_t first,
                 std::span<float* const> cells) {
  const std::int64_t text = memory.rows * p.config.d_model;
  for (std::size_t l = 0; l < p.memories.size(); ++l) {
    std::copy_n(memory.layers[l].data() + first * text, p.shape.batch * text,
                cells[place(p.memories[l])]);
  }
}

void keep_memory(const Program& p, std::span<float* const> cells, std::int64_t first,
                 SegmentMemory& next) {
  const std::int64_t width = p.config.d_model, segment = p.shape.positions;
  const std::int64_t fresh = std::min(next.rows, segment), old = next.rows - fresh;
  for (std::size_t l = 0; l < p.remembered.size(); ++l) {
    float* to = next.layers[l].data() + first * next.rows * width;
    for (std::int64_t b = 0; b < p.shape.batch; ++b) {
      if (old > 0) {
        const float* memory = cells[place(p.memories[l])] + b * p.shape.memory * width;
        to = std::copy_n(memory + (p.shape.memory - old) * width, old * width, to);
      }
      const float* rows = cells[place(p.remembered[l])] + b * segment * width;
      to = std::copy_n(rows + (segment - fresh) * width, fresh * width, to);
    }
  }
}

}  // namespace headlight
