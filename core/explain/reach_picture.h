// The reach of a cell: which words change it, and at which layer they still do, from its real
// gradients.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/run/trace.h"

namespace headlight {

/// A place of the residual stream, and how strongly each token's row there acts on the cell:
/// ‖d(cell)/d(row)‖, the length of the gradient.
struct ReachRow {
  int after = -1;  // the layer behind which it lies; −1: the words' embeddings
  std::vector<float> norms;
};

struct Reach {
  std::uint64_t serial = 0;  // of the trace
  TensorId tensor = -1;
  std::vector<std::int64_t> index;
  std::int64_t token = 0;      // whose row the cell stands in
  std::vector<ReachRow> rows;  // from the embeddings on, to the last one below the cell
};

/// Of an activation's cell, by one backward pass from it. Nothing for inputs, parameters and
/// gradients, which no word changes, and where no token has a row of its own.
std::optional<Reach> reach_of(const Trace&, TensorId, const std::vector<std::int64_t>& index);

}  // namespace headlight
