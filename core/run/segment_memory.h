// What a model remembers of the segments before: for each layer the last rows that came into it
// (Dai et al. 2019, "Transformer-XL"). Between two runs it is data; no gradient passes.
#pragma once

#include <span>
#include <vector>

#include "core/graph/program.h"

namespace headlight {

struct SegmentMemory {
  std::int64_t batch = 0, rows = 0;  // of each text of the batch so many rows; 0: nothing yet
  std::vector<FloatBuffer> layers;   // (batch, rows, d_model)

  bool operator==(const SegmentMemory&) const = default;
};

/// Rows that are remembered when a segment of `positions` tokens follows `before` rows: at most
/// Config::memory.
std::int64_t remembered_rows(const Config&, std::int64_t before, std::int64_t positions);

/// Makes room for what is remembered after a segment of `positions` tokens that follows `before`.
/// Allocates nothing where there is room already.
void make_room(const Config&, const SegmentMemory& before, std::int64_t batch,
               std::int64_t positions, SegmentMemory& next);

/// Fills the inputs Program::memories, of the texts of `memory` from `first` on as many as the
/// program has. Program::shape has memory.rows of them, or none and nothing is done.
void fill_memory(const Program&, const SegmentMemory& memory, std::int64_t first,
                 std::span<float* const> cells);

/// After a run: what is remembered of these texts next, the last rows of the memory and the segment
/// behind it, into the texts of `next` (make_room()) from `first` on. `cells` as the run left them.
void keep_memory(const Program&, std::span<float* const> cells, std::int64_t first,
                 SegmentMemory& next);

}  // namespace headlight
