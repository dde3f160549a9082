// One way to compute a layer's attention, or its other products, over so many tokens: operations
// of their own, with random numbers to read, to be timed.
#pragma once

#include <array>
#include <vector>

#include "core/backends/backend.h"

namespace headlight {

/// Attention whose scores and weights are kept; in one piece; the same with a sparse mask; and the
/// products of a layer that are not of pairs: W_Q, W_K, W_V, W_O, feed-forward.
enum Way : std::size_t { kFullWay, kFusedWay, kLocalWay, kStridedWay, kProductsWay, kWays };

inline constexpr int kSparseReach = 64;  // of the local window, and from one stride to the next
/// Of kLocalWay and kStridedWay.
MaskSpec sparse_mask(Way);

struct LayerSizes {
  std::int64_t heads = 0, width = 0, d_model = 0, hidden = 0;
};

class TimedPiece {
 public:
  TimedPiece(const LayerSizes&, Way, std::int64_t tokens);
  /// Of what it reads and makes, but for weights.
  double bytes() const;
  /// Takes the memory and fills what is read.
  void prepare();
  /// One run, by the machine's monotonic clock. `again`: what a mask says is known from the run
  /// before, as in every layer but the first.
  double seconds(Backend&, bool again);

 private:
  TensorId add(std::vector<Axis>, TensorKind = TensorKind::kInput);
  TensorId call(Op, std::vector<TensorId> in, const OpParams& = {});
  void add_attention(const LayerSizes&);
  void add_products(const LayerSizes&);

  Way way_;
  std::int64_t tokens_;
  Program program_;
  TensorId mask_ = -1;
  FloatBuffer arena_;
  std::vector<float*> memory_;
};

}  // namespace headlight
